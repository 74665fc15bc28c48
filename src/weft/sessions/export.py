"""A session written for people: Markdown, or one HTML page that needs nothing else."""

import html
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from weft.schema import wire
from weft.schema.content import AnyBlock, Image, Text, Thinking, ToolResult, ToolUse, text_of
from weft.schema.records import AssistantRecord, ChainRecord, Record, SystemRecord, UserRecord
from weft.sessions.listing import is_prompt, prompt_text
from weft.sessions.resume import chain_of

_LONGEST: Final = 20_000


class Entry(msgspec.Struct, frozen=True):
    """One heading and its text. `code` is shown as it is; the rest is Markdown."""

    who: str
    text: str
    when: str = ""
    code: bool = False


def entries(records: Sequence[Record]) -> Iterator[Entry]:
    """The whole conversation in order, what was compacted away included; copies that a compaction made left out."""
    skip = 0
    for record in whole_chain(records):
        if isinstance(record, SystemRecord):
            if record.subtype == "compact_boundary":
                skip = kept_after(record)
                yield Entry("Weft", "The conversation was compacted here.", record.origin.timestamp)
            continue
        if isinstance(record, UserRecord) and record.summary:
            yield Entry("Summary", record.message.text, record.origin.timestamp)
            continue
        if skip > 0 and isinstance(record, UserRecord | AssistantRecord):
            skip -= 1
            continue
        yield from _of(record)


def kept_after(boundary: SystemRecord) -> int:
    """How many records after a compaction's summary repeat what stands before it."""
    details = boundary.data.get("compactMetadata")
    kept = msgspec.convert(details, dict[str, object]).get("keptRecords") if isinstance(details, dict) else 0
    return kept if isinstance(kept, int) else 0


def whole_chain(records: Sequence[Record]) -> tuple[ChainRecord, ...]:
    """The conversation with the parts before each compaction, which are chains of their own in the file."""
    known = {r.origin.uuid: i for i, r in enumerate(records) if isinstance(r, UserRecord | AssistantRecord)}
    chain = chain_of(records)
    first = chain[0] if chain else None
    if isinstance(first, SystemRecord) and first.logical_parent in known:
        before = records[: known[first.logical_parent] + 1]
        return (*whole_chain(before), *chain)
    return chain


def _of(record: ChainRecord) -> Iterator[Entry]:
    if isinstance(record, UserRecord):
        if is_prompt(record):
            yield Entry("You", prompt_text(record), record.origin.timestamp)
        for block in record.message.content:
            if isinstance(block, ToolResult):
                yield Entry("Result" if not block.is_error else "Error", _result(block), code=True)
            elif isinstance(block, Image):
                yield Entry("You", "(a picture)")
    elif isinstance(record, AssistantRecord):
        for block in record.reply.content:
            entry = _of_block(block, record.origin.timestamp)
            if entry is not None:
                yield entry


def _of_block(block: AnyBlock, when: str) -> Entry | None:
    match block:
        case Text(text=text) if text.strip():
            return Entry("Agent", text, when)
        case Thinking(thinking=text) if text.strip():
            return Entry("Thinking", text, when, code=True)
        case ToolUse(name=name, input=input):
            return Entry(f"Tool: {name}", _cut(msgspec.json.format(wire.encode(input), indent=2).decode()), when, True)
        case _:
            return None


def _result(block: ToolResult) -> str:
    return _cut(text_of(block.content))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n… ({len(text) - _LONGEST:,} more characters)"


def to_markdown(records: Sequence[Record], *, title: str = "") -> str:
    parts = [f"# {title or 'Session'}"]
    for entry in entries(records):
        when = f" ({entry.when})" if entry.when else ""
        parts.append(f"## {entry.who}{when}")
        parts.append(_fenced(entry.text) if entry.code else entry.text)
    return "\n\n".join(parts) + "\n"


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }}
article {{ border-top: 1px solid #8884; padding: .5rem 0 }} h2 {{ font-size: .9rem; margin: .3rem 0; opacity: .7 }}
pre {{ overflow-x: auto; background: #8881; padding: .6rem; white-space: pre-wrap }}
time {{ font-weight: normal }} @media (prefers-color-scheme: dark) {{ body {{ background: #111; color: #ddd }} }}
</style></head><body><h1>{title}</h1>
{body}
</body></html>
"""


def to_html(records: Sequence[Record], *, title: str = "") -> str:
    """A page on its own. All text is escaped or cleaned: a session may quote anything."""
    import nh3
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("js-default")
    articles: list[str] = []
    for entry in entries(records):
        body = f"<pre>{html.escape(entry.text)}</pre>" if entry.code else nh3.clean(markdown.render(entry.text))
        when = f" <time>{html.escape(entry.when)}</time>" if entry.when else ""
        articles.append(f"<article><h2>{html.escape(entry.who)}{when}</h2>{body}</article>")
    return _PAGE.format(title=html.escape(title or "Session"), body="\n".join(articles))
