"""Shell commands, parsed with a real grammar.

`analyse` gives every simple command that a line may run, wherever it hides: lists, pipes, substitutions, subshells,
here-documents. `clear` is true only when the grammar has no error and the strict lexer sees the same words.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from weft.permissions.shell_words import Line, Simple, Unclear, Word, join_lines, lex

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_LENGTH = 20_000
_NOT_PLAIN = re.compile(r"[^ -~\n\t]")


class Found(msgspec.Struct, frozen=True):
    """A simple command as the grammar sees it: raw words, and where it stands."""

    words: tuple[str, ...]
    raw: str
    inside: str = ""
    """`substitution` when its output or the command itself is part of another's words."""


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """`line` is set when everything is clear. `problems` say why it is not. `found` is complete in both cases, as
    far as the grammar can tell."""

    text: str
    line: Line | None = None
    problems: tuple[str, ...] = ()
    found: tuple[Found, ...] = ()


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


@lru_cache(maxsize=512)
def analyse(command: str) -> Analysis:
    """Never raises: what is too long, broken or strange is a problem of the analysis."""
    if len(command) > MAX_LENGTH:
        return Analysis(text=command[:200], problems=("it is too long to be judged",))
    problems: list[str] = []
    line: Line | None = None
    text = command
    try:
        text = join_lines(command)
        line = lex(command)
    except Unclear as error:
        problems.append(str(error))
    # The grammar's scanner looks characters up in a table of ASCII and reads past its end for others, which can crash
    # the process. One letter for each such character keeps every position the same.
    root = _parser().parse(_NOT_PLAIN.sub("X", text).encode("ascii")).root_node
    found: list[Found] = []
    _collect(root, text, "", found)
    if root.has_error:
        problems.insert(0, "it cannot be parsed")
    elif line is not None and not _agree(line, found):
        problems.append("it can be read in two ways")
    return Analysis(text=text, line=None if problems else line, problems=tuple(problems), found=tuple(found))


_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_SIMPLE = frozenset({"command", "declaration_command", "unset_command", "test_command"})


def _collect(root: "Node", source: str, inside: str, found: list[Found]) -> None:
    """Walks with a stack of its own: nesting in the input must not reach Python's limit."""
    stack = [(root, inside)]
    while stack:
        node, where = stack.pop()
        if node.type in _SIMPLE:
            found.append(Found(_words(node, source), _slice(node, source), where))
        elif node.type in ("variable_assignment", "variable_assignments") and where != "prefix":
            found.append(Found((), _slice(node, source), where))
        deeper = "substitution" if node.type in _SUBSTITUTIONS else "prefix" if node.type in _SIMPLE else where
        if node.type in ("variable_assignment", "variable_assignments"):
            deeper = "prefix"
        for child in reversed(node.children):
            stack.append((child, deeper if child.type not in _SUBSTITUTIONS else "substitution"))


def _words(node: "Node", source: str) -> tuple[str, ...]:
    if node.type != "command":
        return (_slice(node, source).split(None, 1)[0],)
    skipped = ("variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect")
    return tuple(_slice(child, source) for child in node.children if child.type not in skipped)


def _slice(node: "Node", source: str) -> str:
    return source[node.start_byte : node.end_byte]


def _agree(line: Line, found: list[Found]) -> bool:
    """Whether lexer and grammar see the same simple commands with the same words, in the same order."""
    mine = [_mine(simple) for simple in line.commands if simple.words]
    theirs = [item.words for item in found if item.words]
    if len(mine) != len(theirs):
        return False
    for ours, other in zip(mine, theirs, strict=True):
        if other[0] in ("[", "export", "declare", "typeset", "readonly", "local", "unset", "unsetenv"):
            if ours[0] != other[0]:
                return False
        elif ours != other:
            return False
    return True


def _mine(simple: Simple) -> tuple[str, ...]:
    return tuple(word.raw for word in simple.words)


def words_of(found: Found) -> tuple[Word, ...] | None:
    """The words of a command that the grammar found, with quotes removed; None where they are not fixed."""
    words: list[Word] = []
    for raw in found.words:
        try:
            inner = lex(raw).commands
        except Unclear:
            words.append(Word(text=raw, raw=raw, variables=("?",)))
            continue
        if len(inner) == 1 and len(inner[0].words) == 1:
            words.append(inner[0].words[0])
        else:
            words.append(Word(text=raw, raw=raw))
    return tuple(words) or None
