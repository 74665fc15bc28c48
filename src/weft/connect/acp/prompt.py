"""A prompt of ours as ACP content, and how its turn ended. Kinds that the agent does not take become text, so that
nothing is lost."""

import msgspec

from weft.protocols.acp.content import ContentBlock, EmbeddedResource, ImageContent, Resource, text
from weft.protocols.acp.session import PromptCapabilities
from weft.schema.commands import Prompt
from weft.schema.content import AnyBlock, Base64Source, Content, Document, Image, Text, TextSource, UrlSource
from weft.schema.events import TurnReason


def changed(queue: list[Prompt], id_: str, words: str | None) -> list[Prompt]:
    """Waiting prompts, with one of them taken out or said in other words."""
    return [
        msgspec.structs.replace(prompt, content=words) if prompt.id == id_ and words else prompt
        for prompt in queue
        if prompt.id != id_ or words
    ]


def to_prompt(content: str | Content, takes: PromptCapabilities) -> tuple[ContentBlock, ...]:
    if isinstance(content, str):
        return (text(content),)
    return tuple(_to_block(block, takes) for block in content)


def _to_block(block: AnyBlock, takes: PromptCapabilities) -> ContentBlock:
    match block:
        case Text(text=words):
            return text(words)
        case Image(source=Base64Source(media_type=mime, data=data)) if takes.image:
            return ImageContent(data=data, mime_type=mime)
        case Image(source=Base64Source(media_type=mime)):
            return text(f"[an image, {mime}, which this agent does not take]")
        case Image(source=UrlSource(url=url)) | Document(source=UrlSource(url=url)):
            return text(url)
        case Document(source=TextSource(data=data, media_type=mime), title=title):
            name = title or "document"
            if takes.embedded_context:
                return EmbeddedResource(resource=Resource(uri=_uri(name), text=data, mime_type=mime))
            return text(f"{name}:\n{data}")
        case Document(source=Base64Source(media_type=mime, data=data), title=title):
            if takes.embedded_context:
                return EmbeddedResource(resource=Resource(uri=_uri(title or "document"), blob=data, mime_type=mime))
            return text(f"[{title or 'a document'}, {mime}, which this agent does not take]")
        case _:
            return text(f"[{type(block).__name__}, which this agent does not take]")


def _uri(name: str) -> str:
    if "://" in name:
        return name
    return f"file://{name}" if name.startswith("/") else f"weft:{name}"


def to_reason(stop: str) -> TurnReason:
    match stop:
        case "cancelled":
            return "cancelled"
        case "refusal":
            return "refused"
        case "max_turn_requests":
            return "max_turns"
        case _:
            return "completed"
