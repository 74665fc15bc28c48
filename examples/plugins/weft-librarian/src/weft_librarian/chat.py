"""`@librarian`: answers about the Markdown files of a project."""

from pathlib import Path

from weft.extend.api import (
    ChatContext,
    ChatMessage,
    ChatRequest,
    ChatResult,
    Feedback,
    Followup,
    ResponseStream,
    ResponseTurn,
)


class Librarian:
    def __init__(self) -> None:
        self.heard: list[Feedback] = []

    async def handle(self, request: ChatRequest, context: ChatContext, stream: ResponseStream) -> ChatResult:
        folder = request.host.folders[0]
        documents = sorted(folder.glob("*.md"))
        if request.command == "summary":
            return await self._summary(request, stream, folder)
        if request.command == "title":
            return await self._title(request, stream, folder)
        stream.progress("Looking at the shelves")
        before = sum(isinstance(turn, ResponseTurn) for turn in context.history)
        stream.markdown(f"There are {len(documents)} documents; I was asked {before} times before.\n")
        stream.filetree([path.name for path in documents], folder.name)
        for path in documents:
            stream.reference(str(path), path.name)
        if documents:
            stream.markdown("The first is ")
            stream.anchor(str(documents[0]), documents[0].name)
            stream.button("Sum it up", f"@librarian /summary {documents[0].name}")
        else:
            stream.warning("The shelves are empty.")
        return ChatResult(metadata={"count": len(documents)})

    async def _summary(self, request: ChatRequest, stream: ResponseStream, folder: Path) -> ChatResult:
        path = folder / request.prompt
        if not path.is_file():
            return ChatResult(error=f"There is no document {request.prompt}.")
        if request.model is None:
            return ChatResult(error="There is no model to ask.")
        ask = ChatMessage.user(f"Sum this document up in one sentence:\n{path.read_text('utf-8')}")
        async with request.model.send([ask], justification="to sum a document up") as answer:
            async for text in answer.text:
                stream.markdown(text)
        return ChatResult()

    async def _title(self, request: ChatRequest, stream: ResponseStream, folder: Path) -> ChatResult:
        name, _, title = request.prompt.partition(" ")
        chosen = await stream.confirmation("A new title", f"Put “{title}” on top of {name}?", ("Do it", "Leave it"))
        if chosen != "Do it":
            stream.markdown("Nothing was changed.")
            return ChatResult()
        text = (folder / name).read_text("utf-8")
        await stream.text_edit(str(folder / name), "", f"# {title}\n\n{text}")
        stream.markdown(f"{name} has its title.")
        return ChatResult()

    def followups(self, result: ChatResult, context: ChatContext) -> list[Followup]:
        if not result.metadata.get("count"):
            return []
        return [Followup(prompt="README.md", label="Sum up the README", command="summary")]

    def feedback(self, feedback: Feedback) -> None:
        self.heard.append(feedback)
