"""Settings in layers: order, merging, problems, writing."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import SettingsError, UsageError
from weft.settings import load_settings
from weft.settings.layers import merge
from weft.settings.load import decode_layer
from weft.settings.write import edit_file

ROOT = Path(__file__).resolve().parents[3]


def put(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def test_a_later_layer_wins_and_lists_are_joined(tmp_path: Path, fresh_home: Path) -> None:
    project, policy = tmp_path / "p", tmp_path / "managed.json"
    put(fresh_home / ".claude/settings.json", {"model": "claude-user", "language": "a", "permissions": {"deny": ["A"]}})
    put(fresh_home / ".weft/settings.json", {"model": "weft-user", "env": {"A": "1", "B": "1"}})
    put(project / ".claude/settings.json", {"model": "project", "env": {"B": "2"}, "permissions": {"deny": ["B", "A"]}})
    put(project / ".weft/settings.json", {"theme": "dark"})
    put(project / ".claude/settings.local.json", {"model": "local"})
    put(policy, {"model": "policy"})
    settings = load_settings(project, trusted=True, flag='{"model": "flag"}', policy_files=(policy,))
    assert settings.values["model"] == "policy"
    assert settings.env() == {"A": "1", "B": "2"}
    assert settings.values["permissions"] == {"deny": ["A", "B"]}
    assert (settings.text("theme"), settings.text("language")) == ("dark", "a")
    order = [(layer.scope, layer.data.get("model")) for layer in settings.layers if layer.data.get("model")]
    assert order == [
        ("user", "claude-user"),
        ("user", "weft-user"),
        ("project", "project"),
        ("local", "local"),
        ("cliArg", "flag"),
        ("policy", "policy"),
    ]


def test_sources_choose_the_layers_but_never_drop_policy_or_flag(tmp_path: Path, fresh_home: Path) -> None:
    put(fresh_home / ".weft/settings.json", {"model": "user"})
    put(tmp_path / ".claude/settings.json", {"theme": "project"})
    put(tmp_path / "managed.json", {"language": "policy"})
    settings = load_settings(
        tmp_path, sources=("project",), flag='{"verbose":true}', policy_files=(tmp_path / "managed.json",)
    )
    assert settings.values == {"theme": "project", "language": "policy", "verbose": True}
    assert load_settings(tmp_path, sources=(), policy_files=()).values == {}
    with pytest.raises(UsageError, match="unknown setting source"):
        load_settings(tmp_path, sources=("nowhere",))


def test_unknown_keys_are_kept_and_told(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, flag='{"futureKey": {"a": 1}, "permissions": {"newThing": 2}}', policy_files=())
    assert settings.values["futureKey"] == {"a": 1}
    told = " ".join(str(problem) for problem in settings.problems)
    assert "futureKey" in told and "permissions.newThing" in told
    assert all(problem.level == "warning" for problem in settings.problems)


def test_each_wrong_value_is_told_by_itself(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, flag='{"env": 3, "hooks": [], "model": "x", "verbose": "yes"}', policy_files=())
    assert [str(problem).split(": ")[1] for problem in settings.problems] == ["env", "hooks", "verbose"]
    assert settings.values["model"] == "x"


@pytest.mark.parametrize(
    ("text", "place"),
    [("{", (1, 2)), ('{"a": 1,\n "b": }', (2, 7)), ('{"é": x}', (1, 7)), ("[]", None)],
)
def test_a_broken_file_is_told_with_line_and_column(text: str, place: tuple[int, int] | None) -> None:
    layer = decode_layer("user", "f.json", "/", text.encode())
    assert layer.data == {} and len(layer.problems) == 1
    if place:
        assert (layer.problems[0].line, layer.problems[0].column) == place


def test_flags_that_cannot_be_used_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        load_settings(tmp_path, flag="nowhere.json")
    with pytest.raises(UsageError, match="JSON"):
        load_settings(tmp_path, flag='{"a": ')


def test_a_folder_in_place_of_a_settings_file_fails_closed(tmp_path: Path) -> None:
    (tmp_path / "managed.json").mkdir()
    assert load_settings(tmp_path, policy_files=(tmp_path / "managed.json",)).seal == "deny"
    (tmp_path / ".claude/settings.json").mkdir(parents=True)
    assert load_settings(tmp_path, policy_files=()).seal == "ask"


def test_an_empty_file_and_a_byte_order_mark_are_no_problem() -> None:
    assert decode_layer("user", "f", "/", b"").problems == ()
    assert decode_layer("user", "f", "/", b'\xef\xbb\xbf{"model": "x"}').data == {"model": "x"}


def test_editing_is_whole_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "settings.json"
    edit_file(path, lambda data: data.update(a=1))
    assert json.loads(path.read_text()) == {"a": 1}
    path.chmod(0o640)
    edit_file(path, lambda data: data.update(b=2))
    assert path.stat().st_mode & 0o777 == 0o640
    path.write_text("{broken")
    with pytest.raises(SettingsError, match="cannot be changed"):
        edit_file(path, lambda data: data.update(c=3))
    assert path.read_text() == "{broken"
    assert [item.name for item in path.parent.iterdir()] == ["settings.json"]


def test_editing_follows_a_link_and_leaves_it_one(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text('{"z": 1}')
    link = tmp_path / "settings.json"
    link.symlink_to("real.json")
    edit_file(link, lambda data: data.update(a=1))
    assert link.is_symlink() and json.loads((tmp_path / "real.json").read_text()) == {"z": 1, "a": 1}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), json_values, max_size=3)


@given(objects, objects, objects)
def test_merging_has_no_favourite_grouping(a: dict[str, object], b: dict[str, object], c: dict[str, object]) -> None:
    assert set(merge(merge(a, b), c)) == set(merge(a, merge(b, c)))
    assert merge(a, {}) == a and merge({}, a) == a


@given(st.binary(max_size=60))
def test_any_bytes_become_a_layer(data: bytes) -> None:
    layer = decode_layer("policy", "f", "/", data)
    assert layer.data or not data.strip() or layer.problems or layer.data == {}
    assert layer.seal == "deny" or not any(problem.line for problem in layer.problems)


def test_the_published_schema_is_current_and_accepts_a_full_file() -> None:
    done = subprocess.run([sys.executable, "scripts/settings_schema.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run: python scripts/settings_schema.py"
    schema = json.loads((ROOT / "docs/settings.schema.json").read_text())
    example = {
        "permissions": {"allow": ["Bash(npm test:*)"], "groups": {"mcp": "ask"}},
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
        "sandbox": {"enabled": True, "network": {"allow": True}},
        "unknown": 1,
    }
    jsonschema.validate(example, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"permissions": {"allow": "Bash"}}, schema)


def test_what_is_unknown_or_wrong_is_placed_by_line_and_column() -> None:
    text = b'{\n  "theme": "dark",\n  "nonsense": 1,\n  "permissions": {\n    "deny": "x", "odd": []\n  },\n'
    text += b'  "verbose": 3\n}'
    layer = decode_layer("user", "s.json", "/", text)
    assert [str(problem).partition(": ")[0] for problem in layer.problems] == [
        *("s.json:3:3", "s.json:5:5", "s.json:5:18", "s.json:7:3")
    ]
    assert layer.data["nonsense"] == 1, "an unknown key is kept"
    nested = decode_layer("user", "s.json", "/", b'{"sandbox": {"network": {"allowedDomains": []}, "odd": 1}}')
    assert [problem.message for problem in nested.problems] == [
        "unknown key 'sandbox.network.allowedDomains' is kept and has no effect",
        "unknown key 'sandbox.odd' is kept and has no effect",
    ]
    escaped = decode_layer("user", "s.json", "/", b'{"n\\u006fnsense": 1}')
    assert str(escaped.problems[0]).startswith("s.json: unknown key 'nonsense'")
