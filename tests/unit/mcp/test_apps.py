"""An app's page can do nothing by itself (T31)."""

import pytest

from weft.errors import ToolError
from weft.mcp.apps import SANDBOX, AppPage, policy_of, read_request
from weft.mcp.catalogue import decode_tool

PAGE = AppPage(server="s", tool="clock", uri="ui://clock", document="", policy="")
TOOLS = (
    decode_tool("s", {"name": "plain"}),
    decode_tool("s", {"name": "for_model", "_meta": {"ui": {"visibility": ["model"]}}}),
    decode_tool("s", {"name": "for_app", "_meta": {"ui": {"visibility": ["app"]}}}),
    decode_tool("other", {"name": "theirs"}),
)


def test_t31_the_frame_has_no_origin_of_ours_and_cannot_move_the_page():
    assert "allow-same-origin" not in SANDBOX and "allow-top-navigation" not in SANDBOX


def test_t31_the_policy_comes_from_the_resource_alone_and_takes_only_https_origins():
    assert "connect-src 'none'" in policy_of({}) and "default-src 'none'" in policy_of({})
    csp = {
        "connectDomains": ["https://api.example", "http://plain.example", "javascript:x", "*; script-src *", "a b"],
        "resourceDomains": ["cdn.example", "https://user@evil.example"],
    }
    policy = policy_of({"ui": {"csp": csp}})
    assert "connect-src https://api.example;" in policy
    assert "https://cdn.example" in policy and "evil" not in policy and "plain.example" not in policy
    assert policy.count("script-src") == 1


def test_t31_an_app_calls_tools_of_its_own_server_that_are_meant_for_it():
    def ask(name: str) -> str:
        message = {"id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}, "server": "other"}}
        return read_request(PAGE, TOOLS, message).server

    assert ask("plain") == "s" and ask("for_app") == "s"
    for name in ("for_model", "theirs", "Bash", ""):
        with pytest.raises(ToolError, match="may not call"):
            ask(name)


def test_t31_a_tool_for_apps_alone_is_not_told_to_the_model():
    assert [tool.name for tool in TOOLS if tool.app_only] == ["for_app"]


def test_t31_links_are_https_and_sizes_are_bounded():
    with pytest.raises(ToolError):
        read_request(PAGE, TOOLS, {"id": 1, "method": "ui/open-link", "params": {"url": "javascript:alert(1)"}})
    size = read_request(PAGE, TOOLS, {"method": "ui/notifications/size-changed", "params": {"height": 10**9}})
    assert size.height == 4000
    assert read_request(PAGE, TOOLS, {"method": "eval"}).kind == "unknown"
