"""What may come next while a person types: `/` commands, `@` files and agents, `#` notes, `!` commands."""

import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from weft.schema.events import CommandInfo, Completed, SessionInfo
from weft.surfaces.files import score
from weft.surfaces.terminal.words import t

Kind: TypeAlias = Literal["/", "@", "#", "!", "argument"]
MOST = 40
_MENTION = re.compile(r"(?:^|(?<=[\s(]))@(?P<quote>\"?)(?P<query>[^\s\"]*)$")


class Trigger(msgspec.Struct, frozen=True):
    """`start` is where the completed text begins, as an offset into the text before the cursor."""

    kind: Kind
    query: str
    start: int


class Candidate(msgspec.Struct, frozen=True):
    """`insert` replaces the text from the trigger's start. `more` keeps the list open, as for a folder."""

    label: str
    detail: str = ""
    insert: str = ""
    more: bool = False


NOTES = (
    ("# ", "a note for the memory file of this project"),
    ("#project: ", "the same, said in full"),
    ("#user: ", "a note for all of your projects"),
    ("#local: ", "a note for this project that is not shared"),
)


def find_trigger(before: str) -> Trigger | None:
    """What is being typed at the end of `before`, the text up to the cursor."""
    if before.startswith("/") and not re.search(r"\s", before):
        return Trigger("/", before[1:], 0)
    if before.startswith("#") and " " not in before and "\n" not in before:
        return Trigger("#", before[1:], 0)
    if before.startswith("!") and "\n" not in before and len(before) > 1:
        return Trigger("!", before[1:].strip(), 0)
    mention = _MENTION.search(before)
    if mention is not None:
        return Trigger("@", mention["query"], mention.start())
    return None


class Sources(msgspec.Struct, kw_only=True):
    """Where candidates come from. `files` may be slow and is asked in a thread."""

    info: SessionInfo | None = None
    files: Callable[[str, int], Sequence[str]] = lambda _query, _limit: ()
    shell: Sequence[str] = ()
    extra: Sequence[CommandInfo] = ()


def candidates(trigger: Trigger, sources: Sources) -> list[Candidate]:
    """The best ones first; none when what is typed is already one of them and the only one."""
    match trigger.kind:
        case "/":
            return _commands(trigger.query, sources)
        case "@":
            return _mentions(trigger.query, sources)
        case "#":
            return [Candidate(text, t(detail), text) for text, detail in NOTES if text.startswith(f"#{trigger.query}")]
        case "!":
            found = [text for text in sources.shell if trigger.query in text and text != trigger.query]
            return [Candidate(text, "", f"!{text}") for text in dict.fromkeys(found)][:MOST]
        case "argument":
            return []


def from_agent(answer: Completed) -> list[Candidate]:
    return [Candidate(item.label, item.detail, item.insert, more=item.more) for item in answer.items]


def _commands(query: str, sources: Sources) -> list[Candidate]:
    infos = {info.name: info for info in (*sources.extra, *(sources.info.commands if sources.info else ()))}
    scored: list[tuple[float, str, CommandInfo]] = []
    for info in infos.values():
        points = max(fuzzy(query, name) for name in (info.name, *info.aliases))
        if points > 0:
            scored.append((-points, info.name, info))
    return [
        Candidate(f"/{info.name} {info.argument_hint}".rstrip(), t(info.description), f"/{info.name} ")
        for _, _, info in sorted(scored, key=lambda row: row[:2])[:MOST]
    ]


def _mentions(query: str, sources: Sources) -> list[Candidate]:
    agents = sources.info.agents if sources.info is not None else ()
    found = [
        Candidate(f"@agent-{name}", t("agent"), f"@agent-{name} ")
        for name in agents
        if query and fuzzy(query, f"agent-{name}") > 0
    ]
    for path in sources.files(query, MOST):
        shown = f'"{path}"' if " " in path else path
        folder = path.endswith("/")
        found.append(Candidate(path, "", f"@{shown}{'' if folder else ' '}", more=folder))
    return found[:MOST]


def fuzzy(query: str, name: str) -> float:
    """0 when the letters are not there in this order; an empty query fits everything."""
    return score(query, name) if query else 1.0
