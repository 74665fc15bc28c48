"""Definitions in source text: by tree-sitter where the grammar's wheel is installed, by patterns otherwise."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LANGUAGES: Final = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".jsx": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
}
_MODULES: Final = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
}
_KINDS: Final = {
    "function_definition": "function",
    "class_definition": "class",
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "class_declaration": "class",
    "abstract_class_declaration": "class",
    "method_definition": "method",
    "abstract_method_signature": "method",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
    "internal_module": "namespace",
    "variable_declarator": "variable",
    "method_declaration": "method",
    "type_spec": "type",
    "function_item": "function",
    "struct_item": "struct",
    "enum_item": "enum",
    "trait_item": "trait",
    "impl_item": "impl",
    "mod_item": "module",
    "macro_definition": "macro",
    "type_item": "type",
    "const_item": "constant",
    "static_item": "constant",
}
_CONTAINERS: Final = frozenset({"class", "interface", "trait", "impl", "module", "namespace"})
_THROUGH: Final = frozenset(
    {
        "decorated_definition",
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
        "type_declaration",
        "block",
        "class_body",
        "declaration_list",
        "statement_block",
        "expression_statement",
        "ambient_declaration",
        "if_statement",
        "try_statement",
    }
)
_PATTERN: Final = re.compile(
    r"^[ \t]*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([^)]*\))?|"
    r"unsafe|override|virtual|inline|sealed|open|data)\s+)*"
    r"(?P<kind>class|interface|struct|enum|trait|impl|module|namespace|def|fn|func|fun|function|sub|type|protocol|object)"
    r"\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_WORDS: Final = {"def": "function", "fn": "function", "func": "function", "fun": "function", "sub": "function"}


class Symbol(msgspec.Struct, frozen=True):
    """A definition. Lines count from 1; `end` is the last one."""

    name: str
    kind: str
    line: int
    end: int
    container: str = ""


@cache
def parser(language: str) -> "Parser | None":
    """The parser of a language; None where its grammar is not installed or does not fit."""
    module, function = _MODULES[language]
    try:
        import tree_sitter

        make: Any = tree_sitter.Language
        return tree_sitter.Parser(make(getattr(import_module(module), function)()))
    except (ImportError, ValueError, AttributeError):
        return None


def symbols(data: bytes, ending: str) -> list[Symbol]:
    language = LANGUAGES.get(ending)
    made = parser(language) if language is not None else None
    if made is None:
        return list(_by_pattern(data.decode("utf-8", "replace")))
    found: list[Symbol] = []
    _walk(made.parse(data).root_node, "", found, 0)
    return found


def _walk(node: "Node", container: str, found: list[Symbol], depth: int) -> None:
    for child in node.named_children:
        kind = _KINDS.get(child.type)
        if kind is None:
            if child.type in _THROUGH and depth < 40:
                _walk(child, container, found, depth + 1)
            continue
        name = _name(child)
        if not name or (kind == "variable" and child.end_point[0] - child.start_point[0] < 2):
            continue
        outer = child.parent if child.parent is not None and child.parent.type in _THROUGH - {"block"} else child
        if outer.type not in ("decorated_definition", "export_statement", "lexical_declaration"):
            outer = child
        real = "method" if kind == "function" and container else kind
        found.append(Symbol(name, real, outer.start_point[0] + 1, child.end_point[0] + 1, container))
        if kind in _CONTAINERS and depth < 40:
            body = child.child_by_field_name("body")
            if body is not None:
                _walk(body, name, found, depth + 1)


def _name(node: "Node") -> str:
    named = node.child_by_field_name("name") or node.child_by_field_name("type")
    return named.text.decode("utf-8", "replace")[:200] if named is not None and named.text else ""


def _by_pattern(text: str) -> Iterator[Symbol]:
    """Where each definition begins; it is taken to end before the next one."""
    hits = list(_PATTERN.finditer(text))
    line, at = 1, 0
    starts: list[int] = []
    for hit in hits:
        line += text.count("\n", at, hit.start("kind"))
        at = hit.start("kind")
        starts.append(line)
    last = line + text.count("\n", at)
    for place, hit in enumerate(hits):
        end = starts[place + 1] - 1 if place + 1 < len(hits) else last
        word = hit["kind"]
        yield Symbol(hit["name"], _WORDS.get(word, word), starts[place], max(end, starts[place]))
