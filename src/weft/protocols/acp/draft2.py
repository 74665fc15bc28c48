"""The draft of ACP version 2 as a translation of version 1, frame by frame: for an agent's side, and never waiting.

In the draft a prompt is answered at once and its end is a state of the session; messages, calls and plans are upserts;
permission requests have a title and a subject; modes are config options only; files and terminals are the agent's own.
What the draft may still change is all in this module.
"""

import difflib
import itertools
from typing import Any, Final, TypeAlias, cast

Frame: TypeAlias = dict[str, Any]
VERSION: Final = 2
_RENAMED: Final = {"auth/login": "authenticate", "auth/logout": "logout"}


class Draft2:
    """One connection. `from_client` and `from_agent` give (frames for the agent, frames for the client).

    Until the client asks for version 2 in `initialize`, every frame passes as it is.
    """

    def __init__(self) -> None:
        self.active = False
        self._ids = itertools.count(1)
        self._asked: dict[object, str] = {}
        self._prompts: dict[str, str] = {}
        self._waiting: dict[object, str] = {}

    # --- what the client says ---------------------------------------------------------------------------------

    def from_client(self, frame: Frame) -> tuple[list[Frame], list[Frame]]:
        method, params = frame.get("method"), _object(frame.get("params"))
        if method == "initialize" and _number(params.get("protocolVersion")) >= VERSION:
            self.active = True
        if not self.active:
            return [frame], []
        if method is None:
            session = self._waiting.pop(_id(frame), None)
            return [frame], [_state(session, "running")] if session else []
        if method == "session/prompt" and "id" in frame:
            return self._prompt(frame, params)
        method = _RENAMED.get(str(method), str(method))
        if method == "session/resume" and params.get("replayFrom"):
            method = "session/load"
        if "id" in frame:
            self._asked[_id(frame)] = method
        return [{**frame, "method": method, "params": self._params(method, params)}], []

    def _params(self, method: str, params: Frame) -> Frame:
        match method:
            case "initialize":
                offered = _object(params.get("capabilities"))
                capabilities: Frame = {"session": {"notices": {}, "compaction": {}}}
                if offered.get("elicitation") is not None:
                    capabilities["elicitation"] = offered["elicitation"]
                return {"protocolVersion": 1, "clientInfo": params.get("info"), "clientCapabilities": capabilities}
            case "session/new" | "session/resume" | "session/load" | "session/fork":
                servers = [_server(_object(one)) for one in _list(params.get("mcpServers"))]
                return {**{k: v for k, v in params.items() if k != "replayFrom"}, "mcpServers": servers}
            case "session/set_config_option" if params.get("type") == "id":
                return {key: value for key, value in params.items() if key != "type"}
            case _:
                return params

    def _prompt(self, frame: Frame, params: Frame) -> tuple[list[Frame], list[Frame]]:
        """Answered at once; the agent's own answer will be the end of the turn."""
        session = str(params.get("sessionId", ""))
        inner = f"turn-{next(self._ids)}"
        message = f"user-{next(self._ids)}"
        self._prompts[inner] = session
        return [{**frame, "id": inner}], [
            {"jsonrpc": "2.0", "id": frame["id"], "result": {"messageId": message}},
            _update(session, {"sessionUpdate": "user_message", "messageId": message, "content": params.get("prompt")}),
            _state(session, "running"),
        ]

    # --- what the agent says ----------------------------------------------------------------------------------

    def from_agent(self, frame: Frame) -> list[Frame]:
        if not self.active:
            return [frame]
        method, params = frame.get("method"), _object(frame.get("params"))
        if method == "session/update":
            update = self._update(_object(params.get("update")))
            return [] if update is None else [_update(str(params.get("sessionId", "")), update)]
        if method == "session/request_permission":
            session = str(params.get("sessionId", ""))
            self._waiting[_id(frame)] = session
            return [_state(session, "requires_action"), {**frame, "params": _permission(params)}]
        if method is not None:
            return [frame]
        if isinstance(frame.get("id"), str) and frame["id"] in self._prompts:
            return [_ended(self._prompts.pop(frame["id"]), frame)]
        asked = self._asked.pop(_id(frame), "")
        if "result" not in frame:
            return [frame]
        return [{**frame, "result": self._result(asked, frame["result"])}]

    def _result(self, method: str, result: Any) -> Any:
        held = _object(result)
        match method:
            case "initialize":
                return {
                    "protocolVersion": VERSION,
                    "info": held.get("agentInfo"),
                    "capabilities": {
                        "session": {
                            "prompt": {"image": {}, "embeddedContext": {}},
                            "mcp": {"stdio": {}, "http": {}},
                            "delete": {},
                            "additionalDirectories": {},
                        },
                        "auth": {},
                    },
                    "authMethods": [_method(_object(one)) for one in _list(held.get("authMethods"))],
                }
            case "session/new" | "session/resume" | "session/load" | "session/set_config_option" | "session/fork":
                kept = {key: value for key, value in held.items() if key != "modes"}
                if "configOptions" in kept:
                    kept["configOptions"] = [_option(_object(one)) for one in _list(kept["configOptions"])]
                return kept
            case _:
                return result

    def _update(self, update: Frame) -> Frame | None:
        match update.get("sessionUpdate"):
            case "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk":
                return {**update, "messageId": update.get("messageId") or f"message-{next(self._ids)}"}
            case "tool_call" | "tool_call_update":
                return {"sessionUpdate": "tool_call_update", **_call(update)}
            case "plan":
                items = {"type": "items", "planId": "todos", "entries": update.get("entries")}
                return {"sessionUpdate": "plan_update", "plan": items}
            case "current_mode_update":
                return None
            case "config_option_update":
                options = [_option(_object(one)) for one in _list(update.get("configOptions"))]
                return {**update, "configOptions": options}
            case "available_commands_update":
                commands = [_command(_object(one)) for one in _list(update.get("availableCommands"))]
                return {**update, "availableCommands": commands}
            case _:
                return update


def _object(value: Any) -> Frame:
    return cast(Frame, value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _id(frame: Frame) -> int | str | None:
    """The id of a frame, where it is one."""
    held = frame.get("id")
    return held if isinstance(held, int | str) else None


def _update(session: str, update: Frame) -> Frame:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}


def _state(session: str, state: str) -> Frame:
    return _update(session, {"sessionUpdate": "state_update", "state": state})


def _ended(session: str, frame: Frame) -> Frame:
    update: Frame = {"sessionUpdate": "state_update", "state": "idle"}
    if "error" in frame:
        return _update(session, {**update, "stopReason": "error", "error": frame["error"]})
    return _update(session, {**update, "stopReason": _object(frame.get("result")).get("stopReason")})


def _server(server: Frame) -> Frame:
    if server.get("type") != "stdio":
        return server
    return {"args": [], "env": [], **{key: value for key, value in server.items() if key != "type"}}


def _method(method: Frame) -> Frame:
    return {"type": "agent", "methodId": method.get("id"), **{k: v for k, v in method.items() if k != "id"}}


def _option(option: Frame) -> Frame:
    return {"configId": option.get("id"), **{key: value for key, value in option.items() if key != "id"}}


def _command(command: Frame) -> Frame:
    out = {"type": "command", **command}
    if isinstance(command.get("input"), dict):
        out["input"] = {"type": "text", **command["input"]}
    return out


def _call(call: Frame) -> Frame:
    out = {key: value for key, value in call.items() if key != "sessionUpdate"}
    if isinstance(out.get("content"), list):
        out["content"] = [_content(_object(one)) for one in _list(out["content"])]
    return out


def _content(content: Frame) -> Frame:
    if content.get("type") != "diff":
        return content
    path, old, new = str(content.get("path", "")), content.get("oldText"), str(content.get("newText") or "")
    names = ("/dev/null" if old is None else f"a{path}", f"b{path}")
    lines = difflib.unified_diff((old or "").splitlines(True), new.splitlines(True), *names)
    return {
        "type": "diff",
        "changes": [{"operation": "add" if old is None else "modify", "path": path}],
        "patch": {"format": "git_patch", "text": "".join(lines)},
    }


def _permission(params: Frame) -> Frame:
    call = _object(params.get("toolCall"))
    return {
        "sessionId": params.get("sessionId"),
        "title": call.get("title") or "May this be done?",
        "subject": {"type": "tool_call", "toolCall": _call(call)},
        "options": params.get("options"),
    }
