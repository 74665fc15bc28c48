"""Modes, models and thinking levels of a session as ACP shows them."""

import msgspec

from weft.protocols.acp import session as s
from weft.protocols.acp import updates as u
from weft.protocols.acp.frames import INVALID_PARAMS, RpcError
from weft.schema import commands as c
from weft.schema.events import MODES, Mode, SessionInfo
from weft.schema.messages import ThinkingConfig

MODE_NAMES: dict[Mode, tuple[str, str]] = {
    "default": ("Ask first", "Asks before it edits files or runs commands"),
    "acceptEdits": ("Accept edits", "Edits files without asking; asks before it runs commands"),
    "plan": ("Plan", "Reads and plans; changes nothing until the plan is approved"),
    "bypassPermissions": ("Bypass permissions", "Asks nothing"),
    "dontAsk": ("Don't ask", "Refuses what no rule allows, without asking"),
    "smart": ("Smart", "Asks only for what looks risky"),
}
LEVELS: dict[str, tuple[str, ThinkingConfig]] = {
    "off": ("Off", ThinkingConfig()),
    "low": ("Low", ThinkingConfig("adaptive", effort="low")),
    "medium": ("Medium", ThinkingConfig("adaptive", effort="medium")),
    "high": ("High", ThinkingConfig("adaptive", effort="high")),
    "max": ("Max", ThinkingConfig("adaptive", effort="max")),
}
THINK = ThinkingConfig("adaptive")
"""What iFlow's `set_think` switches on."""


def modes(info: SessionInfo) -> s.ModeState:
    return s.ModeState(
        current_mode_id=info.mode,
        available_modes=tuple(
            s.SessionMode(id=mode, name=MODE_NAMES[mode][0], description=MODE_NAMES[mode][1]) for mode in _offered(info)
        ),
    )


def _offered(info: SessionInfo) -> tuple[Mode, ...]:
    return info.modes if info.mode in info.modes else (*info.modes, info.mode)


def options(info: SessionInfo) -> tuple[u.ConfigOption, ...]:
    return (
        _select("mode", "Mode", "mode", info.mode, [(m, MODE_NAMES[m][0]) for m in _offered(info)]),
        _select("model", "Model", "model", info.model, _models(info)),
        _select(
            "thinking", "Thinking", "thought_level", level_of(info.thinking), [(k, v[0]) for k, v in LEVELS.items()]
        ),
    )


def _models(info: SessionInfo) -> list[tuple[str, str]]:
    known = [(model.id, model.name or model.id) for model in info.models]
    if info.model not in dict(known):
        known.insert(0, (info.model, info.model))
    return known


def _select(id_: str, name: str, category: str, current: str, values: list[tuple[str, str]]) -> u.ConfigOption:
    return u.ConfigOption(
        id=id_,
        name=name,
        type="select",
        category=category,
        current_value=current,
        options=tuple(u.SelectOption(value=value, name=shown or value) for value, shown in values),
    )


def level_of(thinking: ThinkingConfig) -> str:
    if thinking.kind == "disabled":
        return "off"
    effort = thinking.effort or "medium"
    return "max" if effort == "xhigh" else effort


def mode_of(name: str) -> Mode | None:
    """Our own names, and iFlow's."""
    others: dict[str, Mode] = {"yolo": "bypassPermissions", "auto_edit": "acceptEdits", "autoEdit": "acceptEdits"}
    if name in others:
        return others[name]
    return next((mode for mode in MODES if mode == name), None)


def to_mode(name: object) -> Mode:
    """
    Raises:
        RpcError: there is no such mode.
    """
    found = mode_of(name) if isinstance(name, str) else None
    if found is None:
        raise RpcError(INVALID_PARAMS, "Invalid params", {"details": f"there is no mode {name}"})
    return found


def to_command(request: s.SetConfig, info: SessionInfo) -> tuple[c.Command, SessionInfo]:
    """The command that sets the option, and the session as it will be.

    Raises:
        RpcError: there is no such option, or it has no such value.
    """
    wanted = {option.id: option for option in options(info)}.get(request.config_id)
    if wanted is None:
        raise RpcError(INVALID_PARAMS, "Invalid params", {"details": f"there is no option {request.config_id}"})
    value = request.value
    if not isinstance(value, str) or value not in [choice.value for choice in u.choices(wanted)]:
        raise RpcError(INVALID_PARAMS, "Invalid params", {"details": f"{request.config_id} has no value {value}"})
    match request.config_id:
        case "mode":
            mode = to_mode(value)
            return c.SetMode(mode), msgspec.structs.replace(info, mode=mode)
        case "model":
            return c.SetModel(value), msgspec.structs.replace(info, model=value)
        case _:
            thinking = LEVELS[value][1]
            return c.SetThinking(thinking), msgspec.structs.replace(info, thinking=thinking)
