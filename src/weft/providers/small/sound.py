"""Does a file still parse? A small model breaks the form of a file more often than its sense, and says done.

Asked before the change is made, of files in forms that Python itself can read, and only where they parsed before.
"""

import ast
import json
import re
import tomllib
import warnings
from pathlib import PurePosixPath


def fault(path: str, text: str) -> str:
    """What is wrong with the form of the text; empty when nothing is, or when nobody here can tell."""
    try:
        match PurePosixPath(path).suffix:
            case ".py":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ast.parse(text)
            case ".json":
                json.loads(text)
            case ".toml":
                tomllib.loads(text)
            case _:
                return ""
    except SyntaxError as error:
        line = (error.text or "").strip()
        return f"line {error.lineno}: {error.msg}" + (f": {line}" if line else "")
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)[:200]
    return ""


def new_fault(path: str, before: str, after: str) -> str:
    """As `fault`, empty when the text was no better before."""
    found = fault(path, after)
    return "" if found and before.strip() and fault(path, before) else found


def lost(before: str, after: str) -> int:
    """How many lines of a file a new text of it leaves out."""
    kept = {line.strip() for line in after.split("\n")}
    return sum(1 for line in before.split("\n") if line.strip() and line.strip() not in kept)


def orphan(path: str, before: str, after: str) -> str:
    """A name whose definition goes with a change of Python code while it is still used there; empty when none is."""
    if PurePosixPath(path).suffix != ".py":
        return ""
    definition = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
    gone = set(definition.findall(before)) - set(definition.findall(after))
    return next((name for name in sorted(gone) if re.search(rf"(?<!\w){name}\(", after)), "")


def mended(path: str, before: str, old: str, new: str) -> tuple[str, str, str] | None:
    """An edit that breaks the form of a file, in a near form that does not: old text, new text, and what was put
    right. A comma or colon at the end of the line is put back; a body beside its `def` takes the place of a body of
    one line."""
    if new_fault(path, before, before.replace(old, new, 1)) == "":
        return None
    tail = old.rstrip()[-1:]
    tries: list[tuple[str, str, str]] = []
    if tail in (",", ":", ";"):
        tries.append((old, new.rstrip() + tail, f"the {tail!r} at the end of the line was put back"))
    if tail != ",":
        tries.append((old, new.rstrip().rstrip(","), "a comma at the end of the line was taken off"))
    if tail == ":" and new.startswith(old):
        below = next((line for line in before.partition(f"{old}\n")[2].split("\n")[:1] if line.strip()), "")
        indent = below[: len(below) - len(below.lstrip())]
        if indent:
            whole = f"{old}\n{indent}{new[len(old) :].strip()}"
            tries.append((f"{old}\n{below}", whole, "the new body took the place of the old one"))
    for one in tries:
        if one[0] in before and one[0] != one[1] and fault(path, before.replace(one[0], one[1], 1)) == "":
            return one
    return None
