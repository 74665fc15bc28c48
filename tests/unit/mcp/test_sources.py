"""Every configuration dialect, its expansion, its scope, and who wins."""

import json
from pathlib import Path

import pytest

from weft.mcp.config import ServerConfig
from weft.mcp.policy import Policy
from weft.mcp.sources import Options, find_servers


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return project


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def found(folder: Path, **more: object) -> dict[str, ServerConfig]:
    env = {"HOME": str(folder.parent / "person"), "PATH": "/bin", "TOKEN": "t0ken", "N": "7"}
    options = {"folder": folder, "env": env, "managed": (), "home": folder.parent / "weft", **more}
    return {server.name: server for server in find_servers(Options(**options)).servers}


ENTRY = {"command": "server", "args": ["-n", "${N}", "${NOPE:-none}", "${MISSING}"]}


def test_claude_project_entries_expand_and_wait_for_approval(folder: Path):
    write(folder / ".mcp.json", {"mcpServers": {"a": ENTRY}})
    server = found(folder)["a"]
    assert server.args == ("-n", "7", "none", "${MISSING}")
    assert server.standing == "pending" and server.scope == "project"
    assert server.variables == ("N", "NOPE", "MISSING") and "MISSING" in server.problem


def test_local_beats_project_beats_user_and_entries_are_never_merged(folder: Path):
    person = folder.parent / "person"
    write(folder / ".mcp.json", {"mcpServers": {"a": {"command": "project", "env": {"X": "1"}}}})
    write(
        person / ".claude.json",
        {"mcpServers": {"a": {"command": "user"}, "u": {"command": "user"}}},
    )
    assert found(folder)["a"].command == "project"
    write(
        person / ".claude.json",
        {
            "mcpServers": {"u": {"command": "user"}},
            "projects": {str(folder): {"mcpServers": {"a": {"command": "mine"}}}},
        },
    )
    servers = found(folder)
    assert servers["a"].command == "mine" and servers["a"].env == {} and servers["a"].standing == "approved"
    assert servers["u"].scope == "user"


def test_vscode_files_have_comments_inputs_variables_and_null_that_unsets(folder: Path):
    write(
        folder / ".vscode/mcp.json",
        """{ // servers of the project
          "servers": {
            "v": {"command": "${workspaceFolder}/run", "args": ["${input:key}", "${env:N}", "${userHome}"],
                  "env": {"A": null, "B": "${env:TOKEN}"}, "envFile": "${workspaceFolder}/.env", "cwd": "sub"},
            "s": {"type": "http", "url": "unix:///run/mcp.sock#/mcp",},
          },
          "inputs": [{"id": "key", "type": "promptString", "password": true}, {"id": "other", "type": "promptString"}]
        }""",
    )
    servers = found(folder, trust_project=True)
    server = servers["v"]
    assert server.command == f"{folder}/run"
    assert server.args == ("${input:key}", "7", str(folder.parent / "person"))
    assert server.env == {"A": None, "B": "t0ken"} and server.env_file == f"{folder}/.env"
    assert [item.id for item in server.inputs] == ["key"] and server.inputs[0].password
    assert servers["s"].socket == "/run/mcp.sock" and servers["s"].url == "http://localhost/mcp"


def test_cursor_takes_an_address_without_a_type_and_claude_does_not(folder: Path):
    entry = {"url": "https://example.com/mcp", "auth": {"CLIENT_ID": "c", "scopes": ["a", "b"]}}
    write(folder / ".cursor/mcp.json", {"mcpServers": {"c": entry}})
    write(folder / ".mcp.json", {"mcpServers": {"d": entry}})
    servers = found(folder, trust_project=True)
    assert servers["c"].transport == "http" and servers["c"].oauth.client_id == "c"
    assert servers["c"].oauth.scopes == "a b"
    assert servers["d"].standing == "invalid" and "type" in servers["d"].problem


def test_plugins_get_their_own_folders_a_prefix_and_give_way(folder: Path, tmp_path: Path):
    plugin = tmp_path / "plugin"
    write(
        plugin / ".mcp.json", {"mcpServers": {"p": {"command": "${CLAUDE_PLUGIN_ROOT}/run"}, "same": {"command": "x"}}}
    )
    write(folder.parent / "person/.claude.json", {"mcpServers": {"x": {"command": "x"}}})
    servers = found(folder, plugins=(("tools", plugin),))
    assert servers["plugin_tools_p"].command == f"{plugin}/run"
    assert "plugin_tools_same" not in servers


def test_a_managed_file_is_exclusive_and_policy_denies(folder: Path, tmp_path: Path):
    write(folder / ".mcp.json", {"mcpServers": {"a": {"command": "server"}}})
    managed = tmp_path / "managed.json"
    write(managed, {"mcpServers": {"m": {"type": "http", "url": "https://corp.example/mcp"}}})
    assert list(found(folder, managed=(managed,))) == ["m"]
    denied = Policy(denied=({"serverCommand": ["server"]},))
    assert found(folder, policy=denied, trust_project=True)["a"].standing == "denied"
    only = Policy(allowed=({"serverUrl": "https://*.example/*"},))
    assert found(folder, policy=only, trust_project=True)["a"].standing == "denied"
    both = Policy(allowed=({"serverName": "a"},), denied=({"serverName": "a"},))
    assert found(folder, policy=both, trust_project=True)["a"].standing == "denied"


def test_a_flag_wins_and_strict_reads_nothing_else(folder: Path):
    write(folder / ".mcp.json", {"mcpServers": {"a": {"command": "project"}, "b": {"command": "b"}}})
    flag = ('{"mcpServers": {"a": {"command": "flag"}}}',)
    assert found(folder, flag=flag)["a"].command == "flag"
    assert list(found(folder, flag=flag, strict=True)) == ["a"]


def test_a_broken_file_is_reported_and_the_others_still_count(folder: Path):
    write(folder / ".mcp.json", "{")
    write(folder / ".vscode/mcp.json", {"servers": {"v": {"command": "v"}}})
    whole = find_servers(Options(folder=folder, env={"HOME": "/nobody"}, managed=(), home=folder.parent / "weft"))
    assert [server.name for server in whole.servers] == ["v"]
    assert whole.problems and ".mcp.json" in whole.problems[0]


def test_timeouts_headers_helpers_and_oauth_settings_are_read(folder: Path):
    entry = {
        "type": "streamable-http",
        "url": "https://e.example/mcp",
        "headers": {"X-Key": "${TOKEN}"},
        "headersHelper": "print-headers",
        "timeout": 5000,
        "alwaysLoad": True,
        "oauth": {"clientId": "id", "callbackPort": 3118},
    }
    write(folder / ".mcp.json", {"mcpServers": {"h": entry}})
    server = found(folder, trust_project=True)["h"]
    assert server.headers == {"X-Key": "t0ken"} and server.headers_helper == "print-headers"
    assert server.timeout == 5.0 and server.always_load
    assert server.oauth.client_id == "id" and server.oauth.callback_port == 3118
