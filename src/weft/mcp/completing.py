"""What a person may type next that only servers know: a prompt's arguments, resources, a template's variables.

    /mcp__server__prompt Par          the values that the server has for the argument at the cursor
    @server:demo://thing/1            its resources, and what its templates' variables could be

Everything shown is a server's words, without hidden characters. A server that is slow or fails offers nothing.
"""

import re
import shlex
from collections.abc import Sequence
from typing import Protocol

from weft.mcp.catalogue import PromptInfo, ResourceInfo, TemplateInfo, text_of
from weft.mcp.names import spellings
from weft.schema.content import Json
from weft.schema.events import Completion, ServerInfo

MOST = 40
_COMMAND = re.compile(r"(?s)/([A-Za-z0-9][\w.:-]*)[ \t\n]+(.*)\Z")
_MENTION = re.compile(r"(?:^|(?<=[\s(\[{]))@(?P<quote>\"?)(?P<query>[^\s\"]*)\Z")
_VARIABLE = re.compile(r"\{[+#./;?&]?([A-Za-z_]\w*)[^{}]*\}")

Found = tuple[int, tuple[Completion, ...]]
NOTHING: Found = (0, ())


class Offering(Protocol):
    """What completion needs of a host: the lists of servers that are up, and their values."""

    def servers(self) -> Sequence[ServerInfo]: ...

    def prompts(self) -> Sequence[PromptInfo]: ...

    def resources(self) -> Sequence[ResourceInfo]: ...

    def templates(self) -> Sequence[TemplateInfo]: ...

    async def complete(
        self, server: str, ref: Json, name: str, value: str, context: dict[str, str] | None = None
    ) -> tuple[str, ...]: ...


async def complete(host: Offering, text: str) -> Found:
    """Where the completed part begins in `text`, and what could stand there."""
    command = _COMMAND.match(text)
    if command is not None:
        for prompt in host.prompts():
            if command[1] in spellings(prompt.server, prompt.name):
                return await _argument(host, prompt, text, command.start(2))
    mention = _MENTION.search(text)
    if mention is None:
        return NOTHING
    return mention.start(), tuple(await _resources(host, mention["query"]))[:MOST]


async def _argument(host: Offering, prompt: PromptInfo, text: str, begin: int) -> Found:
    """Words as a shell cuts them; the last argument takes all that is left."""
    start = begin
    before: list[str] = []
    last = len(prompt.arguments) - 1
    while len(before) < last and (word := _whole_word(text, start)) is not None:
        before.append(word[0])
        start = word[1]
    if last < 0:
        return NOTHING
    typed = text[start:].lstrip("\"'")
    names = [argument.name for argument in prompt.arguments]
    context = dict(zip(names, before, strict=False))
    argument = prompt.arguments[len(before)]
    values = await host.complete(prompt.server, {"name": prompt.name}, argument.name, typed, context)
    items = [
        Completion(text_of(value, 200), _quoted(value, whole=len(before) == last), argument.name)
        for value in values
        if value != text[start:]
    ]
    return start, tuple(items[:MOST])


def _whole_word(text: str, start: int) -> tuple[str, int] | None:
    """The word at `start` that a space ends, and where the next begins; None when the cursor is still in it."""
    found = re.match(r"(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+(?P<gap>\s+)", text[start:])
    if found is None:
        return None
    raw = found[0].strip()
    try:
        parts = shlex.split(raw)
    except ValueError:
        parts = [raw]
    return " ".join(parts), start + found.end()


def _quoted(value: str, *, whole: bool) -> str:
    """The last argument may have spaces as it is; any other would be cut there."""
    plain = " ".join(value.split()) == value and not re.search(r"[\"'\\]", value)
    if plain and (whole or " " not in value):
        return value
    return shlex.quote(value)


async def _resources(host: Offering, query: str) -> list[Completion]:
    server, colon, typed = query.partition(":")
    known = {info.name for info in host.servers() if info.state == "ready"}
    if not colon or server not in known:
        return _by_name(host, query)
    found = [
        _mention(item.server, item.uri, item.title or item.name or item.description)
        for item in host.resources()
        if item.server == server and typed.lower() in item.uri.lower() and item.uri != typed
    ]
    for template in host.templates():
        if template.server == server:
            found += await _filled(host, template, typed)
    return list(dict.fromkeys(found))


def _by_name(host: Offering, query: str) -> list[Completion]:
    """Any server's resources that have the word in their name or address, and the beginnings of templates."""
    if not query:
        return []
    word = query.lower()
    found = [
        _mention(item.server, item.uri, item.title or item.name or item.description)
        for item in host.resources()
        if word in f"{item.server}:{item.uri} {item.name} {item.title}".lower()
    ]
    for item in host.templates():
        if word in f"{item.server}:{item.template} {item.name} {item.title}".lower():
            found += _begun(item)
    return found


async def _filled(host: Offering, template: TemplateInfo, typed: str) -> list[Completion]:
    """What the variable at the cursor could be. A template that is not begun yet is offered as far as it is fixed."""
    fixed, names = _cut(template.template)
    if not names or (fixed[0].startswith(typed) and fixed[0] != typed):
        return _begun(template) if fixed[0].lower().startswith(typed.lower()) else []
    if not typed.startswith(fixed[0]):
        return []
    at, context = len(fixed[0]), dict[str, str]()
    for index, name in enumerate(names):
        follows = fixed[index + 1]
        end = typed.find(follows, at) if follows else -1
        if end < 0:
            ref: Json = {"uri": template.template}
            values = await host.complete(template.server, ref, name, typed[at:], context)
            more = index + 1 < len(names)
            whole = [f"{typed[:at]}{value}{follows}" for value in values]
            return [_mention(template.server, uri, name, more=more) for uri in whole if uri != typed]
        context[name] = typed[at:end]
        at = end + len(follows)
    return []


def _begun(template: TemplateInfo) -> list[Completion]:
    fixed, names = _cut(template.template)
    about = template.title or template.name or template.description
    shown = text_of(f"{template.server}:{template.template}", 200)
    return [Completion(shown, f"@{template.server}:{fixed[0]}", about, more=bool(names))]


def _cut(template: str) -> tuple[list[str], list[str]]:
    """The fixed parts of a template, and the variables between them."""
    parts = _VARIABLE.split(template)
    return parts[::2], parts[1::2]


def _mention(server: str, uri: str, about: str = "", *, more: bool = False) -> Completion:
    shown = f"{server}:{uri}"
    quoted = f'"{shown}"' if re.search(r"\s", shown) else shown
    return Completion(text_of(shown, 200), f"@{quoted}{'' if more else ' '}", about, more)
