"""The answer of a participant while it is written: each method becomes events that every surface shows."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from weft.errors import ToolError
from weft.schema.content import Json, Text
from weft.schema.display import LinksView, TextView
from weft.schema.events import AgentEvent, BlockDone, MessageDone, Notice, Question, QuestionOption, Streamed
from weft.schema.messages import Reply
from weft.schema.stream import BlockDelta, BlockStart, BlockStop, MessageStart, TextDelta

Branch: TypeAlias = "str | tuple[str, Sequence[Branch]]"


class Ask(Protocol):
    async def __call__(self, tool_use_id: str, questions: Sequence[Question]) -> dict[str, str] | None: ...


class ResponseStream:
    """Markdown is the message; references, buttons, progress and warnings are notices beside it. Nothing may be
    written after the handler has ended."""

    def __init__(
        self,
        participant: str,
        emit: Callable[[AgentEvent], None],
        ask: Ask,
        edit: Callable[[str, Json], Awaitable[str]],
    ) -> None:
        self._emit = emit
        self._ask = ask
        self._edit = edit
        self._model = f"participant:{participant}"
        self._id = f"msg_{uuid.uuid4().hex}"
        self._pieces: list[str] = []
        self._references: list[tuple[str, str]] = []
        self._closed = False

    # --- what handlers call -----------------------------------------------------------------------------------

    def markdown(self, text: str) -> None:
        """A piece of the answer. Pieces are joined as they are."""
        self._check()
        if not text:
            return
        if not self._pieces:
            self._put(MessageStart(self._id, self._model))
            self._put(BlockStart(0, Text("")))
        self._pieces.append(text)
        self._put(BlockDelta(0, TextDelta(text)))

    def anchor(self, target: str, title: str = "") -> None:
        """A link in the text: a file (`path` or `path:line`) or an address."""
        label = (title or target).replace("[", "\\[").replace("]", "\\]")
        self.markdown(f"[{label}](<{target.replace('<', '%3C').replace('>', '%3E')}>)")

    def filetree(self, tree: Sequence[Branch], base: str = "") -> None:
        """A tree of files: names, and (name, children) for folders."""
        lines = [base] if base else []
        self.markdown("\n```text\n" + "\n".join([*lines, *_tree(tree, "")]) + "\n```\n")

    def progress(self, message: str) -> None:
        self._check()
        self._emit(Notice(text=message, tag="participant_progress"))

    def warning(self, message: str) -> None:
        self._check()
        self._emit(Notice(text=message, level="warning", tag="participant_warning"))

    def reference(self, target: str, title: str = "") -> None:
        """Something that the answer rests on; shown once at its end."""
        self._check()
        self._references.append((title or target, target))

    def button(self, title: str, prompt: str) -> None:
        """Something to do next: pressing it sends the prompt."""
        self._check()
        self._emit(
            Notice(
                text=f"{title}: {prompt}",
                tag="participant_button",
                display=(TextView(f"{title}: {prompt}"),),
                data={"title": title, "prompt": prompt},
            )
        )

    async def confirmation(self, title: str, message: str, buttons: Sequence[str] = ("Yes", "No")) -> str | None:
        """Asks the person and waits. The button that was chosen; None when nobody can be asked or they declined."""
        self._check()
        text = f"{title}\n{message}" if message else title
        options = tuple(QuestionOption(label) for label in buttons)
        answers = await self._ask("", (Question(text, header=title[:30], options=options, free_text=False),))
        chosen = next(iter((answers or {}).values()), None)
        return chosen if chosen in buttons else None

    async def text_edit(self, path: str, old: str, new: str) -> str:
        """Changes a file, through the person's rules like an edit of the model. An empty `old` writes the file anew.

        Raises:
            ToolError: it was refused, or does not fit; the sentence says which.
        """
        self._check()
        if old:
            return await self._edit("Edit", {"file_path": path, "old_string": old, "new_string": new})
        return await self._edit("Write", {"file_path": path, "content": new})

    # --- the end ----------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def close(self, *, aborted: bool = False) -> Reply:
        """The whole answer. No event follows but its `MessageDone`, which `done` makes."""
        if self._pieces:
            self._emit(BlockDone(message_id=self._id, index=0, block=Text(self.text), model=self._model))
            self._put(BlockStop(0))
        self._closed = True
        if self._references and not aborted:
            words = "It rests on: " + ", ".join(label for label, _ in self._references)
            links = LinksView(tuple(self._references))
            self._emit(Notice(text=words, tag="participant_references", display=(links,)))
        content = (Text(self.text),) if self._pieces else ()
        return Reply(id=self._id, model=self._model, content=content, stop_reason="end_turn")

    def done(self, reply: Reply, uuid: str, *, aborted: bool = False) -> None:
        if reply.content:
            self._emit(MessageDone(reply=reply, uuid=uuid, aborted=aborted))

    def _put(self, delta: MessageStart | BlockStart | BlockDelta | BlockStop) -> None:
        self._emit(Streamed(message_id=self._id, delta=delta))

    def _check(self) -> None:
        if self._closed:
            raise ToolError("the answer is closed: a participant may write only while its handler runs")


def _tree(tree: Sequence[Branch], indent: str) -> list[str]:
    lines: list[str] = []
    for place, item in enumerate(tree):
        head, below = ("└── ", "    ") if place == len(tree) - 1 else ("├── ", "│   ")
        if isinstance(item, str):
            lines.append(f"{indent}{head}{item}")
        else:
            name, children = item
            lines.append(f"{indent}{head}{name}/")
            lines += _tree(children, indent + below)
    return lines
