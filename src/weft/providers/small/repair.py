"""Near misses of an edit put right: white space, line numbers, fences. Nothing is guessed beyond them."""

import re
from typing import Final

_FENCED: Final = re.compile(r"\A\s*```[\w+-]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_NUMBER: Final = re.compile(r"^\s*\d+(\t|: |\| )")


def unfenced(text: str) -> str:
    """Without a code fence that stands around all of it."""
    found = _FENCED.match(text)
    return found[1] if found else text


def unnumbered(text: str) -> str:
    """Without line numbers, where every line has one."""
    lines = text.split("\n")
    if all(_NUMBER.match(line) for line in lines if line.strip()) and text.strip():
        return "\n".join(_NUMBER.sub("", line, count=1) for line in lines)
    return text


def is_line(text: str, old: str) -> bool:
    """True when `old` is one or more whole lines of the text."""
    return bool(old) and f"\n{old}\n" in f"\n{text}\n"


def anchored(text: str, old: str) -> str | None:
    """`old` as the text has it: exactly, or the one run of lines that differs in white space alone."""
    if not old.strip():
        return None
    if old in text:
        return old
    wanted = [" ".join(line.split()) for line in old.strip("\n").split("\n")]
    lines = text.split("\n")
    bare = [" ".join(line.split()) for line in lines]
    size = len(wanted)
    fits = [at for at in range(len(lines) - size + 1) if bare[at : at + size] == wanted]
    return "\n".join(lines[fits[0] : fits[0] + size]) if len(fits) == 1 else None


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def indented_as(old: str, new: str) -> str:
    """`new` with the indentation of `old`, where the model left it out."""
    indent = indent_of(old)
    if not indent or not new.strip() or indent_of(new.lstrip("\n")):
        return new
    return _shifted(new, indent)


def indented_below(text: str, after: str, added: str) -> str:
    """Lines inserted below one that opens a block stand inside it: as deep as the block's own first line."""
    last = after.split("\n")[-1]
    if not last.rstrip().endswith(":"):
        depth = indent_of(last)
        return _shifted(added, depth) if depth and not indent_of(added) and not _opens(added) else added
    lines = text.split("\n")
    at = next((n for n, line in enumerate(lines) if line == last), len(lines))
    following = next((line for line in lines[at + 1 :] if line.strip()), "")
    depth = indent_of(following)
    if len(depth) <= len(indent_of(last)):
        depth = indent_of(last) + "    "
    return added if len(indent_of(added)) >= len(depth) else _shifted(added, depth[len(indent_of(added)) :])


def _opens(text: str) -> bool:
    """A definition without indentation is meant for the top of the file."""
    return text.startswith(("def ", "class ", "@", "import ", "from ", "async def ", "if __name__"))


def _shifted(text: str, indent: str) -> str:
    return "\n".join(indent + line if line.strip() else line for line in text.split("\n"))
