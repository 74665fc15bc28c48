"""Manifests: read without importing anything, and wrong ones say what is wrong."""

from pathlib import Path

import pytest

from weft.extend.manifest import ManifestError, decode, read

TOOL: dict[str, object] = {"name": "t", "run": "m:f", "display_name": "T", "model_description": "Does t."}
WHERE = Path("/somewhere/plugin.toml")


def made(**parts: object) -> None:
    decode({"plugin": {"name": "x"}, **parts}, WHERE, origin="installed")


def test_the_examples_manifests_are_read() -> None:
    examples = Path(__file__).parents[3] / "examples" / "plugins"
    found = {path.parent.name: read(path, origin="installed") for path in examples.glob("*/src/*/plugin.toml")}
    assert found["weft_wordcount"].tool[0].reference_name == "words"
    assert found["weft_librarian"].participant[0].command[1].name == "summary"


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"tool": [{**TOOL, "name": "a b"}]}, "letters, digits"),
        ({"tool": [{**TOOL, "name": "vscode_x"}]}, "taken"),
        ({"tool": [{**TOOL, "run": "no target"}]}, "module:attribute"),
        ({"tool": [{**TOOL, "can_be_referenced": True}]}, "reference_name"),
        ({"tool": [{**TOOL, "input_schema": {"type": "string"}}]}, "object"),
        ({"tool": [{**TOOL, "when": "a &&"}]}, "when clause"),
        ({"tool": [{**TOOL, "colour": 1}]}, "colour"),
        ({"tool": [TOOL, TOOL]}, "twice"),
        ({"tool": [{"name": "t"}]}, "run"),
        ({"participant": [{"id": "a", "name": "p", "run": "m:f", "full_name": "P\u200b"}]}, "cannot be seen"),
        ({"participant": [{"id": "a", "name": "p", "run": "m:f", "command": [{"name": "a/b"}]}]}, "letters"),
        ({"mcp_server_provider": [{"id": "a b", "run": "m:f"}]}, "letters"),
        ({"origin": "bundled"}, "origin"),
        ({"unheard": []}, "unheard"),
    ],
)
def test_a_wrong_manifest_says_what_is_wrong(parts: dict[str, object], words: str) -> None:
    with pytest.raises(ManifestError, match=words):
        made(**parts)


def test_a_manifest_needs_its_head() -> None:
    with pytest.raises(ManifestError, match=r"\[plugin\]"):
        decode({}, WHERE, origin="installed")


def test_a_file_that_is_not_toml_is_told(tmp_path: Path) -> None:
    path = tmp_path / "plugin.toml"
    path.write_text("[plugin")
    with pytest.raises(ManifestError, match="not TOML"):
        read(path, origin="local")
