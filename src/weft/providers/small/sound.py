"""Does a file still parse? A small model breaks the form of a file more often than its sense, and says done.

Asked before the change is made, of files in forms that Python itself can read, and only where they parsed before.
"""

import ast
import json
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
