"""Writes docs/settings.schema.json from the types in `weft.settings.known`. `--check` only compares."""

import json
import sys
from pathlib import Path

import msgspec

from weft.settings.known import SettingsFile

TARGET = Path(__file__).resolve().parent.parent / "docs" / "settings.schema.json"


def _anything(kind: type) -> dict[str, object]:
    if kind is object:
        return {"description": "Any value."}
    raise NotImplementedError(kind)


def text() -> str:
    schema = msgspec.json.schema(SettingsFile, schema_hook=_anything)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Weft settings", **schema}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    if "--check" in sys.argv[1:]:
        current = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text()
        print("settings schema: ok" if current else "run: python scripts/settings_schema.py")
        return 0 if current else 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
