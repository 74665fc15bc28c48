"""A strict lexer for the part of the shell language that can be judged without running it.

It knows quotes, escapes, plain `$NAME`, globs, `~`, redirections, here-documents, lists, pipes, subshells and the
plain keywords. Everything else raises `Unclear`, which the gate turns into a question. It is the second opinion to
the grammar in `shell`: a command passes by itself only where the two agree on every word.
"""

import re
import unicodedata
from typing import Literal

import msgspec

BLANK = " \t"
OPERATORS = ("&&", "||", "|&", ";", "|", "&", "\n", "(", ")")
REDIRECTIONS = ("&>>", "&>", "<<<", "<<-", "<<", ">>", ">|", ">&", "<&", "<>", ">", "<")
_MAY_OPERATE = frozenset(operator[0] for operator in OPERATORS)
_MAY_REDIRECT = frozenset("0123456789") | {operator[0] for operator in REDIRECTIONS}
_DESCRIPTOR = re.compile(r"\d+(?=[<>])")
PREFIX_KEYWORDS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{"})
SUFFIX_KEYWORDS = frozenset({"fi", "done", "}"})
LOOPS = frozenset({"while", "until", "for"})
UNJUDGED = frozenset({"case", "esac", "select", "function", "coproc", "[[", "]]", "((", "in"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?\+?=")
_META = set(";&|<>()$`\\\"'*?[]{}~#!=%^")


class Unclear(Exception):
    """The text has something that cannot be judged; the message says what."""


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is the value where it is fixed. `variables` are expanded in it at run time, `glob` names files."""

    text: str
    raw: str
    start: int = 0
    variables: tuple[str, ...] = ()
    split: bool = False
    """A variable stands outside of quotes: the word may become several, or none."""
    glob: bool = False
    tilde: bool = False
    quoted: bool = False

    @property
    def fixed(self) -> bool:
        return not self.variables and not self.glob


class Redirect(msgspec.Struct, frozen=True):
    operator: str
    target: Word
    descriptor: str = ""
    body: str | None = None
    """The text of a here-document."""


class Simple(msgspec.Struct, frozen=True, kw_only=True):
    """One simple command. `before` is the operator that stands before it."""

    words: tuple[Word, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    before: str = ""
    raw: str = ""
    start: int = 0

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)


class Line(msgspec.Struct, frozen=True):
    commands: tuple[Simple, ...]
    loops: bool = False
    groups: bool = False
    """It has parentheses, braces or keywords: a command's effect may end before the line does."""


def strange_characters(text: str) -> str:
    """Why the text may not show what it does: control, invisible and look-alike characters."""
    for character in text:
        if character in "\n\t" or " " <= character <= "~":
            continue
        category = unicodedata.category(character)
        if character == "\r":
            return "it has a carriage return"
        if category in ("Cc", "Cf", "Zl", "Zp", "Zs", "Co", "Cn", "Cs"):
            return f"it has an invisible or control character (U+{ord(character):04X})"
        if set(unicodedata.normalize("NFKC", character)) & _META:
            return f"it has a look-alike of a shell character (U+{ord(character):04X})"
    return ""


def lex(text: str) -> Line:
    """
    Raises:
        Unclear: something in it cannot be judged by reading.
    """
    return _Lexer(join_lines(text)).run()


def join_lines(text: str) -> str:
    """The text as one that has no line continuations.

    Raises:
        Unclear: strange characters, or continuations that only the shell itself can place.
    """
    strange = strange_characters(text)
    if strange:
        raise Unclear(strange)
    if "\\\n" not in text:
        return text
    if any(mark in text for mark in ("'", "#", "<<", "\\\\\n")):
        raise Unclear("a line goes on after a backslash, near quotes or comments")
    return text.replace("\\\n", "")


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.commands: list[Simple] = []
        self.loops = False
        self.groups = False
        self.depth = 0
        self.pending: list[tuple[int, int, str, bool, bool]] = []
        self._reset("")

    def _reset(self, before: str) -> None:
        self.words: list[Word] = []
        self.assignments: list[tuple[str, Word]] = []
        self.redirects: list[Redirect] = []
        self.before = before
        self.start = -1
        self.end = 0
        self.closed = False
        self.header: Literal["", "for"] = ""

    def run(self) -> Line:
        while self.at < len(self.text):
            self._step()
        if self.pending:
            raise Unclear("a here-document has no end")
        self._finish("")
        if self.depth:
            raise Unclear("a parenthesis is not closed")
        return Line(tuple(self.commands), self.loops, self.groups)

    def _step(self) -> None:
        character = self.text[self.at]
        if character in BLANK:
            self.at += 1
        elif character == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif redirection := self._redirection():
            self._redirect(*redirection)
        elif character in _MAY_OPERATE and (
            operator := next((op for op in OPERATORS if self.text.startswith(op, self.at)), "")
        ):
            self._operator(operator)
        else:
            self._word()

    # --- operators ----------------------------------------------------------------------------------------------

    def _operator(self, operator: str) -> None:
        if operator == "(":
            if self.words or self.assignments or self.redirects or self.closed or self.text.startswith("((", self.at):
                raise Unclear("a parenthesis stands inside of a command")
            self.depth += 1
            self.groups = True
        elif operator == ")":
            self.depth -= 1
            if self.depth < 0:
                raise Unclear("a parenthesis is closed that was not opened")
        elif operator == ";" and self.text[self.at : self.at + 2] in (";;", ";&"):
            raise Unclear("it has a case list")
        self.at += len(operator)
        self._finish(operator)
        self.closed = operator == ")"
        if operator == "\n" and self.pending:
            self._read_bodies()

    def _finish(self, operator: str) -> None:
        if self.words or self.assignments or self.redirects:
            raw = self.text[max(self.start, 0) : self.end]
            self.commands.append(
                Simple(
                    words=tuple(self.words),
                    assignments=tuple(self.assignments),
                    redirects=tuple(self.redirects),
                    before=self.before,
                    raw=raw,
                    start=self.start,
                )
            )
            self._reset(operator)
        else:
            before = self.before if operator == "\n" and self.before else operator
            self._reset(before)

    # --- redirections -------------------------------------------------------------------------------------------

    def _redirection(self) -> tuple[str, str] | None:
        if self.text[self.at] not in _MAY_REDIRECT:
            return None
        found = _DESCRIPTOR.match(self.text, self.at)
        at = found.end() if found else self.at
        for operator in REDIRECTIONS:
            if self.text.startswith(operator, at):
                return (found[0] if found else ""), operator
        return None

    def _redirect(self, descriptor: str, operator: str) -> None:
        if self.start < 0:
            self.start = self.at
        self.at += len(descriptor) + len(operator)
        if self.text[self.at : self.at + 1] == "(":
            raise Unclear("it has a process substitution")
        while self.text[self.at : self.at + 1] in tuple(BLANK):
            self.at += 1
        target = self._read_word()
        if not target.raw:
            raise Unclear("a redirection has no target")
        if target.text.startswith(("!", "=", "&")):
            raise Unclear("a redirection whose meaning depends on the shell")
        if operator in ("<<", "<<-"):
            literal = target.quoted or "\\" in target.raw
            self.pending.append((len(self.commands), len(self.redirects), target.text, operator == "<<-", literal))
        self.redirects.append(Redirect(operator, target, descriptor))
        self.end = self.at

    def _read_bodies(self) -> None:
        for command, index, delimiter, tabs, literal in self.pending:
            lines: list[str] = []
            while True:
                if self.at >= len(self.text):
                    raise Unclear("a here-document has no end")
                end = self.text.find("\n", self.at)
                line = self.text[self.at : len(self.text) if end < 0 else end]
                self.at = len(self.text) if end < 0 else end + 1
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
                lines.append(line)
            body = "\n".join(lines)
            if not literal and any(mark in body for mark in "$`\\"):
                raise Unclear("a here-document has substitutions")
            if command >= len(self.commands):
                raise Unclear("a here-document stands where it cannot be judged")
            simple = self.commands[command]
            redirects = list(simple.redirects)
            redirects[index] = Redirect(redirects[index].operator, redirects[index].target, body=body)
            self.commands[command] = msgspec.structs.replace(simple, redirects=tuple(redirects))
        self.pending = []

    # --- words --------------------------------------------------------------------------------------------------

    def _word(self) -> None:
        start = self.at
        if self.closed:
            word = self._read_word()
            if word.raw in SUFFIX_KEYWORDS:
                return
            raise Unclear("a word follows a closed group")
        word = self._read_word()
        if not self.words and not self.assignments and not self.redirects and self._keyword(word):
            return
        if self.header == "for":
            return
        if self.start < 0:
            self.start = start
        self.end = self.at
        assignment = _ASSIGNMENT.match(word.raw) if not self.words else None
        if assignment:
            if assignment[2]:
                raise Unclear("it sets an element of an array")
            value = msgspec.structs.replace(word, text=word.text.partition("=")[2], raw=word.raw.partition("=")[2])
            self.assignments.append((assignment[1], value))
        else:
            self.words.append(word)

    def _keyword(self, word: Word) -> bool:
        if word.raw in UNJUDGED or word.raw.startswith(("[[", "((")):
            raise Unclear(f"it uses {word.raw}")
        if word.raw in LOOPS:
            self.loops = True
        if word.raw == "for":
            self._for_header()
            return True
        if word.raw in SUFFIX_KEYWORDS:
            self.groups = self.closed = True
            return True
        self.groups = self.groups or word.raw in PREFIX_KEYWORDS
        return word.raw in PREFIX_KEYWORDS

    def _for_header(self) -> None:
        """`for NAME in WORDS`: the words are data; the body's `$NAME` stays a variable."""
        found = re.compile(r"[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]+in(?=[ \t;\n])").match(self.text, self.at)
        if not found:
            raise Unclear("a for loop of a form that cannot be judged")
        self.at = found.end()
        self.header = "for"

    def _read_word(self) -> Word:
        start = self.at
        parts: list[str] = []
        variables: list[str] = []
        flags = {"split": False, "glob": False, "quoted": False, "tilde": False}
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in " \t\n;|&<>()":
                break
            if character == "'":
                parts.append(self._single())
                flags["quoted"] = True
            elif character == '"':
                parts.append(self._double(variables))
                flags["quoted"] = True
            elif character == "\\":
                if self.at + 1 >= len(self.text):
                    raise Unclear("it ends in a backslash")
                parts.append(self.text[self.at + 1])
                self.at += 2
                flags["quoted"] = True
            elif character == "$":
                parts.append(self._variable(variables))
                flags["split"] = True
            else:
                self._plain(character, start, parts, flags)
        raw = self.text[start : self.at]
        self._check(raw)
        flags["glob"] = flags["glob"] and raw != "["
        return Word(text="".join(parts), raw=raw, start=start, variables=tuple(variables), **flags)

    def _plain(self, character: str, start: int, parts: list[str], flags: dict[str, bool]) -> None:
        if character == "`":
            raise Unclear("it has a command substitution")
        if character in "*?[":
            flags["glob"] = True
        if character == "~" and self.at == start:
            flags["tilde"] = True
        parts.append(character)
        self.at += 1

    def _check(self, raw: str) -> None:
        bare = re.sub(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", "", raw)
        if "{" in bare and ("," in bare or ".." in bare):
            raise Unclear("it has braces that expand")
        if raw.startswith("="):
            raise Unclear("a word begins with =, which zsh expands")
        if re.match(r"~[^/]", raw) or re.search(r"[:=]~", bare):
            raise Unclear("it has a ~ of another form than ~/")

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise Unclear("a quote is not closed")
        value = self.text[self.at + 1 : end]
        self.at = end + 1
        return value

    def _double(self, variables: list[str]) -> str:
        self.at += 1
        value = ""
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == '"':
                self.at += 1
                return value
            if character == "`":
                raise Unclear("it has a command substitution")
            if character == "$":
                value += self._variable(variables)
            elif character == "\\" and self.text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`"):
                value += self.text[self.at + 1]
                self.at += 2
            else:
                value += character
                self.at += 1
        raise Unclear("a quote is not closed")

    def _variable(self, variables: list[str]) -> str:
        after = self.text[self.at + 1 : self.at + 2]
        found = _NAME.match(self.text, self.at + 1)
        if found:
            self.at = found.end()
            if self.text[self.at : self.at + 1] == "[":
                raise Unclear("it has an array element")
            variables.append(found[0])
            return f"${{{found[0]}}}"
        if after == "{" and (braced := re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}").match(self.text, self.at + 1)):
            self.at = braced.end()
            variables.append(braced[1])
            return f"${{{braced[1]}}}"
        if after in ("?", "$", "#", "!"):
            self.at += 2
            variables.append(after)
            return f"${after}"
        if after == "(":
            raise Unclear("it has a command substitution")
        if after == "{":
            raise Unclear("it has an expansion with operators")
        if after in ("'", '"'):
            raise Unclear("it has a $-quoted string")
        if after and after not in ' \t\n"/%^,.:;|&)':
            raise Unclear("it has an unusual expansion")
        self.at += 1
        return "$"
