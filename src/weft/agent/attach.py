"""What a prompt points at: `@file`, `@file:10-20`, `@folder`, `@server:resource`, and pictures by their path.

What is attached is data beside the person's words. A file that a rule forbids to read is not attached; one that is
too long is cut, and says how to read the rest.
"""

import base64
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from weft.agent.commands.port import ServerPrompts
from weft.context.imports import outside_code
from weft.errors import WeftError
from weft.schema.content import AnyBlock, Base64Source, Content, Document, Image, Text

MAX_LINES: Final = 2_000
MAX_BYTES: Final = 256 * 1024
MAX_PICTURE: Final = 5 * 1024 * 1024
MAX_DOCUMENT: Final = 20 * 1024 * 1024
MAX_ENTRIES: Final = 200
MAX_MENTIONS: Final = 20
_MENTION: Final = re.compile(r"""(?:^|(?<=[\s(\[{"']))@(?:"([^"\n]+)"|((?:\\.|[^\s"'`\\])+))""")
_RANGE: Final = re.compile(r"^(.*?)(?::(\d+)(?:-(\d+))?|#L(\d+)(?:-L?(\d+))?)$")
_SERVER: Final = re.compile(r"^([A-Za-z0-9][\w.-]*):(.+)$")
_PICTURE_PATH: Final = re.compile(
    r"""(?:^|(?<=[\s"']))((?:/|~/|\./)(?:\\.|[^\s"'\\])+\.(?:png|jpe?g|gif|webp))(?=$|[\s"'.,;:!?)])""", re.IGNORECASE
)
_MEDIA: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


class Mention(msgspec.Struct, frozen=True):
    """Something that a prompt points at, as it is written. Lines count from 1, both ends included."""

    name: str
    first: int | None = None
    last: int | None = None


def mentions(text: str) -> Iterator[Mention]:
    """What `@` points at in a text, each once; code is not read."""
    seen: set[str] = set()
    for found in _MENTION.finditer(outside_code(text)):
        name = found[1] or re.sub(r"\\(.)", r"\1", found[2]).rstrip(".,;!?)]}")
        if name and name not in seen and len(seen) < MAX_MENTIONS:
            seen.add(name)
            yield _mention(name)


def _mention(name: str) -> Mention:
    found = _RANGE.match(name)
    if found is None or not found[1]:
        return Mention(name)
    first = int(found[2] or found[4])
    last = int(found[3] or found[5] or first)
    return Mention(found[1], first, max(first, last))


async def attachments(
    text: str, cwd: Path, home: Path, servers: ServerPrompts, may_read: Callable[[Path], bool]
) -> Content:
    """What the prompt points at, a block or two for each. What is not there is the person's way of writing."""
    blocks: list[AnyBlock] = []
    done: set[Path] = set()
    for mention in mentions(text):
        path = find(mention.name, cwd, home)
        if path is not None:
            done.add(path)
            blocks += attach(path, mention, may_read)
        else:
            blocks += await _resource(mention, servers)
    for found in _PICTURE_PATH.finditer(text):
        path = find(re.sub(r"\\(.)", r"\1", found[1]), cwd, home)
        if path is not None and path not in done and path.is_file():
            done.add(path)
            blocks += attach(path, Mention(str(path)), may_read)
    return tuple(blocks)


def find(name: str, cwd: Path, home: Path) -> Path | None:
    if "\0" in name:
        return None
    path = home / name[2:] if name.startswith("~/") else cwd / name
    try:
        return path if path.exists() else None
    except OSError:
        return None


def attach(path: Path, mention: Mention, may_read: Callable[[Path], bool]) -> list[AnyBlock]:
    """The blocks for one file or folder; a sentence for the model when it cannot be shown."""
    if not may_read(path):
        return [_note(path, "It was not attached: a rule forbids reading it.")]
    try:
        if path.is_dir():
            return [_folder(path)]
        if not path.is_file():
            return [_note(path, "It was not attached: it is no regular file.")]
        size = path.stat().st_size
        media = _MEDIA.get(path.suffix.lower())
        if media is not None or path.suffix.lower() == ".pdf":
            if size > (MAX_PICTURE if media else MAX_DOCUMENT):
                return [_note(path, f"It was not attached: it has {size:,} bytes, too many to send.")]
            source = Base64Source(media or "application/pdf", base64.b64encode(path.read_bytes()).decode())
            return [_note(path, "It follows."), Image(source) if media else Document(source, title=path.name)]
        return [_file(path, mention, size)]
    except OSError as error:
        return [_note(path, f"It was not attached: {error.strerror or error}.")]


def _note(path: Path, text: str) -> Text:
    return Text(f'<attached path="{path}">{text}</attached>')


def _file(path: Path, mention: Mention, size: int) -> Text:
    with path.open("rb") as file:
        # With a range the lines may be far into the file: then all of it is read, within reason.
        data = file.read(MAX_BYTES if mention.first is None else 16 * MAX_BYTES)
    if b"\0" in data[:8192]:
        return _note(path, "It was not attached: it is not text.")
    lines = data.decode("utf-8", "replace").splitlines()
    first = mention.first or 1
    last = min(mention.last or len(lines), len(lines), first + MAX_LINES - 1)
    body = "\n".join(f"{number:>6}\t{lines[number - 1]}" for number in range(first, last + 1))
    body = body[:MAX_BYTES].replace("</attached", "<\u200b/attached")
    whole = mention.first is not None or (size <= len(data) and last == len(lines))
    more = "" if whole else f"\n(cut here: read {path} from line {last + 1} on for the rest)"
    lines_said = f' lines="{first}-{last}"' if mention.first is not None else ""
    if first > len(lines):
        return _note(path, f"It has {len(lines)} lines; line {first} is not there.")
    return Text(f'<attached path="{path}"{lines_said}>\n{body}{more}\n</attached>')


def _folder(path: Path) -> Text:
    with os.scandir(path) as found:
        rows = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in found)
    more = f"\n… and {len(rows) - MAX_ENTRIES} more" if len(rows) > MAX_ENTRIES else ""
    names = "\n".join(row if row.isprintable() else ascii(row) for row in rows[:MAX_ENTRIES])
    return Text(f'<attached folder="{path}">\n{names}{more}\n</attached>')


async def _resource(mention: Mention, servers: ServerPrompts) -> Content:
    name = mention.name if mention.first is None else f"{mention.name}:{mention.first}"
    found = _SERVER.match(name)
    if found is None:
        return ()
    try:
        content = await servers.resource(found[1], found[2])
    except WeftError as error:
        return (Text(f'<attached resource="{name}">It was not attached: {error}</attached>'),)
    if content is None:
        return ()
    return (Text(f'<attached resource="{name}">'), *content, Text("</attached>"))
