"""Searching the code: by meaning, by name, by use; and the shape of the project."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from weft.extend.api import Call, Json, Link, TextPart, ToolError, ToolResult
from weft.extend.editor_tools.index.search import SymbolHit, definitions, find_symbols, search
from weft.extend.editor_tools.index.service import index_of
from weft.extend.editor_tools.index.vectors import by_meaning, embedder
from weft.schema.display import LinksView
from weft.tools.port import Result, SubagentRequest
from weft.tools.ripgrep import BASE, Shown, find_ripgrep, run_lines

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

SHOWN_LINES = 40
MOST_TREE = 400


def _root(call: Call) -> Path:
    return call.host.folders[0].resolve()


class SearchCodebase:
    """BM25 over the index. Files that a rule keeps from being read are left out."""

    def paths(self, input: Json) -> tuple[str, ...]:
        return (str(input.get("path") or "."),)

    async def invoke(self, input: Json, call: Call) -> ToolResult:
        index = index_of(call)
        await index.wait(call)
        root = _root(call)
        limit = input.get("max_results")
        count = limit if isinstance(limit, int) else 8
        under = _below(root, call, input.get("path"))
        hits = await index.ask(lambda db: search(db, str(input["query"]), limit=count * 3, under=under))
        shown = Shown(call.context, root)
        hits = [hit for hit in hits if shown(hit.path)]
        embed = await to_thread.run_sync(embedder, call.host.settings)
        if embed is not None:
            texts = [await _lines(call, root / hit.path, hit.start, hit.end) for hit in hits]
            hits = await by_meaning(embed, str(input["query"]), hits, texts)
        parts: list[TextPart | Link] = [TextPart(index.note)] if index.note else []
        room = call.token_budget
        files: list[str] = []
        for hit in hits:
            if len(files) == count:
                break
            text = await _lines(call, root / hit.path, hit.start, min(hit.end, hit.start + SHOWN_LINES - 1))
            room -= call.count_tokens(text)
            if not text or room < 0:
                continue
            files.append(hit.path)
            parts.append(TextPart(f"{hit.path}:{hit.start}-{hit.end}\n{text}"))
        if not files:
            parts.append(TextPart("Nothing in the code fits these words. Try others, or search for text."))
        links = [Link(f"{root / path}", path) for path in files]
        display = f"{len(files)} files: {', '.join(files[:5])}" if files else "nothing found"
        return ToolResult(parts=(*parts, *links), display=display, data={"files": files})


def _below(root: Path, call: Call, path: object) -> str:
    if not isinstance(path, str) or not path:
        return ""
    inside = os.path.relpath((call.cwd / path).resolve(), root)
    if inside.startswith(".."):
        raise ToolError(f"{path} is outside of the indexed folder {root}")
    return "" if inside == "." else inside + os.sep


async def _lines(call: Call, path: Path, start: int, end: int) -> str:
    from weft.errors import WorkspaceError

    try:
        data = await call.context.workspace.read(path)
    except WorkspaceError:
        return ""
    lines = data.decode("utf-8", "replace").split("\n")[start - 1 : end]
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start))


class WorkspaceSymbols:
    async def invoke(self, input: Json, call: Call) -> Result:
        index = index_of(call)
        await index.wait(call)
        hits = await index.ask(lambda db: find_symbols(db, str(input["query"])))
        return _symbols(hits, call, index.note, f"No definition is named like {input['query']}.")


def _symbols(hits: list[SymbolHit], call: Call, note: str, nothing: str) -> Result:
    shown = Shown(call.context, _root(call))
    kept = [hit for hit in hits if shown(hit.path)]
    rows = [f"{hit.path}:{hit.line} {hit.kind} {_full(hit)}" for hit in kept]
    links = LinksView(tuple((f"{_full(hit)} ({hit.kind})", f"{hit.path}:{hit.line}") for hit in kept))
    text = "\n".join(filter(None, (note, *rows))) if rows else " ".join(filter(None, (nothing, note)))
    data = [{"name": hit.name, "kind": hit.kind, "path": hit.path, "line": hit.line} for hit in kept]
    return Result(content=text, display=(links,), data={"symbols": data})


def _full(hit: SymbolHit) -> str:
    return f"{hit.container}.{hit.name}" if hit.container else hit.name


class CodeUsages:
    """Every place where a name stands as a word: definitions first. Places inside comments and strings are left out
    where the language's grammar is installed."""

    async def invoke(self, input: Json, call: Call) -> Result:
        name = str(input["symbol"]).strip().rsplit(".", 1)[-1]
        if not name.isidentifier():
            raise ToolError(f"{name!r} is not a name. Search for text instead.")
        index = index_of(call)
        await index.wait(call)
        defined = {(hit.path, hit.line): hit for hit in await index.ask(lambda db: definitions(db, name))}
        found = await _words(call, name)
        used = [place for place in found if (place[0], place[1]) not in defined and await _is_code(call, place, name)]
        shown = Shown(call.context, _root(call))
        rows = [
            f"{path}:{line} defined as {hit.kind} {_full(hit)}" for (path, line), hit in defined.items() if shown(path)
        ]
        rows += [f"{path}:{line} {text.strip()[:160]}" for path, line, text in used]
        text = "\n".join(rows) or f"{name} is not used anywhere."
        links = LinksView(tuple((row.split(" ", 1)[0], row.split(" ", 1)[0]) for row in rows[:200]))
        data = {"definitions": len(defined), "usages": len(used)}
        return Result(content="\n".join(filter(None, (index.note, text))), display=(links,), data=data)


async def _words(call: Call, name: str) -> list[tuple[str, int, str]]:
    rg = find_ripgrep()
    if rg is None:
        raise ToolError("ripgrep is not installed, and usages are found with it")
    root = _root(call)
    shown = Shown(call.context, root)
    found: list[tuple[str, int, str]] = []

    def take(record: bytes) -> bool:
        path, _, rest = record.partition(b"\0")
        number, _, text = rest.partition(b":")
        plain = os.fsdecode(path.removeprefix(b"./"))
        if number.isdigit() and shown(plain):
            found.append((plain, int(number), text.decode("utf-8", "replace")))
        return len(found) < 500

    options = ("--null", "--no-heading", "--with-filename", "--line-number", "--word-regexp", "--fixed-strings")
    await run_lines(call.context, (rg, *BASE, *options, "-e", name, "--", "./"), root, take)
    return sorted(found)


async def _is_code(call: Call, place: tuple[str, int, str], name: str) -> bool:
    """False where all of the line's places of the name are in comments or strings."""
    from weft.extend.editor_tools.index.grammars import LANGUAGES, parser

    path, line, text = place
    language = LANGUAGES.get(os.path.splitext(path)[1].lower())
    made = parser(language) if language is not None else None
    if made is None:
        return True
    tree = await _tree(call, _root(call) / path, made)
    if tree is None:
        return True
    encoded, at = text.encode(), -1
    while (at := encoded.find(name.encode(), at + 1)) >= 0:
        node = tree.root_node.descendant_for_point_range((line - 1, at), (line - 1, at + 1))
        if node is None or not any(word in node.type for word in ("comment", "string")):
            return True
    return False


_trees: "dict[tuple[str, int], Tree]" = {}


async def _tree(call: Call, path: Path, made: "Parser") -> "Tree | None":
    stat = await call.context.workspace.stat(path)
    if stat is None or stat.size > 1_000_000:
        return None
    key = (str(path), stat.mtime_ns)
    if key not in _trees:
        if len(_trees) > 64:
            _trees.clear()
        _trees[key] = made.parse(await call.context.workspace.read(path))
    return _trees[key]


class ProjectStructure:
    async def invoke(self, input: Json, call: Call) -> str:
        from weft.tools.ripgrep import run_whole

        rg = find_ripgrep()
        if rg is None:
            raise ToolError("ripgrep is not installed, and the structure is read with it")
        root = _root(call)
        _, output = await run_whole(call.context, (rg, "--no-config", "--files", "--null"), root)
        shown = Shown(call.context, root)
        names = sorted(os.fsdecode(name.removeprefix(b"./")) for name in output.split(b"\0") if name)
        depth = input.get("depth")
        return _drawn(root.name, [name for name in names if shown(name)], depth if isinstance(depth, int) else 0)


def _drawn(title: str, names: list[str], depth: int) -> str:
    """A tree; folders that would make it too long are counted instead of shown."""
    most = depth or max(name.count(os.sep) for name in names) + 1 if names else 1
    while True:
        lines = _tree_lines(names, most)
        if len(lines) <= MOST_TREE or most == 1:
            return "\n".join([f"{title}/", *lines[:MOST_TREE], *(["..."] if len(lines) > MOST_TREE else [])])
        most -= 1


def _tree_lines(names: list[str], most: int) -> list[str]:
    lines: dict[str, None] = {}
    hidden: dict[str, int] = {}
    for name in names:
        parts = name.split(os.sep)
        for level, part in enumerate(parts[:-1][: most - 1]):
            lines.setdefault("  " * (level + 1) + part + "/" + "\0" + os.sep.join(parts[: level + 1]), None)
        if len(parts) <= most:
            lines.setdefault("  " * len(parts) + parts[-1] + "\0" + name, None)
        else:
            folder = os.sep.join(parts[:most])
            hidden[folder] = hidden.get(folder, 0) + 1
            lines.setdefault("  " * most + parts[most - 1] + "/ \0" + folder, None)
    found: list[str] = []
    for line in lines:
        shown, _, path = line.partition("\0")
        found.append(f"{shown}({hidden[path]} files)" if path in hidden else shown)
    return found


class SearchSubagent:
    async def invoke(self, input: Json, call: Call) -> Result:
        spawner = call.context.spawner
        if spawner is None:
            raise ToolError("agents cannot be started here. Search with the other tools")
        prompt = f"{input['query']}\n\nAnswer with files and line ranges. {input.get('details') or ''}".strip()
        request = SubagentRequest(
            tool_use_id=call.context.use.id,
            agent="Explore",
            description=str(input.get("description") or "Search the code")[:80],
            prompt=prompt,
        )
        return await spawner.run(request)
