"""`when` clauses: a small parser for VS Code's operators. Nothing is ever evaluated as code.

From loose to tight: `||`, `&&`, `!`, then one comparison: `==` `===` `!=` `!==` `<` `<=` `>` `>=` `=~ /re/flags`
`in` `not in`. Both sides of a comparison are words: the left one is a context key, the right one a literal (in quotes
where it has spaces), except after `in` and `not in`, where it is a key that holds a list or an object.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias, cast

import msgspec

from weft.errors import UsageError

Keys: TypeAlias = Mapping[str, object]
MAX_LENGTH: Final = 2_000
MAX_SUBJECT: Final = 2_000
"""Characters of a value that a regular expression sees."""

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<op>\|\||&&|===|!==|==|!=|=~|<=|>=|<|>|!|\(|\))
    | (?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<word>[^\s()!=<>&|'"~]+(?:[-=][^\s()!=<>&|'"~]+)*)
    )""",
    re.VERBOSE,
)
_REGEX: Final = re.compile(r"\s*/((?:[^/\\\n]|\\.)+)/([a-z]*)")
_FLAGS: Final = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "u": re.UNICODE}
_COMPARE: Final = ("==", "===", "!=", "!==", "<", "<=", ">", ">=")


class WhenError(UsageError):
    """A clause that cannot be read; the message says where."""


class Key(msgspec.Struct, frozen=True):
    """True when the key has a value that counts as true."""

    name: str


class Not(msgspec.Struct, frozen=True):
    of: "Node"


class And(msgspec.Struct, frozen=True):
    parts: tuple["Node", ...]


class Or(msgspec.Struct, frozen=True):
    parts: tuple["Node", ...]


class Compare(msgspec.Struct, frozen=True):
    name: str
    op: str
    value: str


class Match(msgspec.Struct, frozen=True):
    name: str
    pattern: str
    flags: str = ""


class Within(msgspec.Struct, frozen=True):
    name: str
    holder: str
    negated: bool = False


Node: TypeAlias = Key | Not | And | Or | Compare | Match | Within


@lru_cache(maxsize=512)
def parse(text: str) -> Node:
    """
    Raises:
        WhenError: the clause is not one.
    """
    if len(text) > MAX_LENGTH:
        raise WhenError(f"a when clause has at most {MAX_LENGTH} characters")
    parser = _Parser(text)
    node = parser.any_of()
    if parser.token is not None:
        raise parser.error(f"{parser.token[1]!r} was not expected")
    return node


def holds(text: str, keys: Keys) -> bool:
    """Whether the clause is true. An empty one always is.

    Raises:
        WhenError: the clause is not one.
    """
    return not text.strip() or evaluate(parse(text), keys)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self.token: tuple[str, str] | None = None
        self._next()

    def error(self, words: str) -> WhenError:
        return WhenError(f"when clause {self._text!r}: {words} (near character {self._at})")

    def _next(self) -> None:
        if not self._text[self._at :].strip():
            self.token, self._at = None, len(self._text)
            return
        found = _TOKEN.match(self._text, self._at)
        if found is None or found.lastgroup is None:
            raise self.error("a key, a value or an operator was expected")
        self.token = found.lastgroup, found[found.lastgroup]
        self._at = found.end()

    def _take(self, *ops: str) -> str | None:
        if self.token is None or self.token[0] != "op" or self.token[1] not in ops:
            return None
        taken = self.token[1]
        self._next()
        return taken

    def any_of(self) -> Node:
        return self._joined("||", self._all_of, Or)

    def _all_of(self) -> Node:
        return self._joined("&&", self._one, And)

    def _joined(self, op: str, inner: Callable[[], Node], make: Callable[[tuple[Node, ...]], Node]) -> Node:
        parts = [inner()]
        while self._take(op):
            parts.append(inner())
        return parts[0] if len(parts) == 1 else make(tuple(parts))

    def _one(self) -> Node:
        self._depth += 1
        if self._depth > 60:
            raise self.error("the clause is nested too deeply")
        try:
            if self._take("!"):
                return Not(self._one())
            if self._take("("):
                inner = self.any_of()
                if not self._take(")"):
                    raise self.error("a closing bracket is missing")
                return inner
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Node:
        name = self._word("a context key")
        if self.token is not None and self.token == ("op", "=~"):
            return self._regex(name)
        op = self._take(*_COMPARE)
        if op is not None:
            return Compare(name, op, self._literal())
        if self.token == ("word", "in"):
            self._next()
            return Within(name, self._word("a context key"))
        if self.token == ("word", "not"):
            self._next()
            if self.token != ("word", "in"):
                raise self.error("`in` was expected after `not`")
            self._next()
            return Within(name, self._word("a context key"), negated=True)
        return Key(name)

    def _regex(self, name: str) -> Node:
        found = _REGEX.match(self._text, self._at)
        if found is None:
            raise self.error("a regular expression between slashes was expected after =~")
        self._at = found.end()
        if not set(found[2]) <= set(_FLAGS):
            raise self.error(f"the flags of a regular expression are {', '.join(_FLAGS)}")
        try:
            _compiled(found[1], found[2])
        except re.error as error:
            raise self.error(f"the regular expression cannot be used: {error}") from None
        self._next()
        return Match(name, found[1], found[2])

    def _word(self, wanted: str) -> str:
        if self.token is None or self.token[0] != "word":
            raise self.error(f"{wanted} was expected")
        word = self.token[1]
        self._next()
        return word

    def _literal(self) -> str:
        if self.token is None or self.token[0] == "op":
            raise self.error("a value was expected")
        kind, text = self.token
        self._next()
        return re.sub(r"\\(.)", r"\1", text[1:-1]) if kind == "quoted" else text


# --- the value of a clause ----------------------------------------------------------------------------------


def evaluate(node: Node, keys: Keys) -> bool:
    match node:
        case Key(name=name):
            return _constant(name, keys)
        case Not(of=inner):
            return not evaluate(inner, keys)
        case And(parts=parts):
            return all(evaluate(part, keys) for part in parts)
        case Or(parts=parts):
            return any(evaluate(part, keys) for part in parts)
        case Compare():
            return _compare(node, keys)
        case Match(name=name, pattern=pattern, flags=flags):
            value = keys.get(name)
            return isinstance(value, str) and _compiled(pattern, flags).search(value[:MAX_SUBJECT]) is not None
        case Within(name=name, holder=holder, negated=negated):
            return _within(keys.get(name), keys.get(holder)) is not negated


def _constant(name: str, keys: Keys) -> bool:
    if name in ("true", "false"):
        return name == "true"
    return bool(keys.get(name))


def _compare(node: Compare, keys: Keys) -> bool:
    value = keys.get(node.name)
    if node.op in ("==", "==="):
        return _same(value, node.value)
    if node.op in ("!=", "!=="):
        return not _same(value, node.value)
    left, right = _number(value), _number(node.value)
    if left is None or right is None:
        return False
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[node.op]


def _same(value: object, literal: str) -> bool:
    if literal == "true":
        return value is True or value == "true"
    if literal == "false":
        return not value or value == "false"
    return value is not None and _text(value) == literal


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(cast("str", value)) if isinstance(value, str | int | float) else None
    except ValueError:
        return None


def _within(value: object, holder: object) -> bool:
    if value is None:
        return False
    if isinstance(holder, Mapping):
        return str(value) in cast("Mapping[str, object]", holder)
    if isinstance(holder, list | tuple | set | frozenset):
        return value in cast("list[object]", holder)
    return False


@lru_cache(maxsize=256)
def _compiled(pattern: str, flags: str) -> re.Pattern[str]:
    value = 0
    for flag in flags:
        value |= _FLAGS[flag]
    return re.compile(pattern, value)
