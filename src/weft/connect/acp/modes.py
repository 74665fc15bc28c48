"""An agent's modes, models and thinking levels in our words, and back. Every agent has its own ids for them."""

import msgspec

from weft.protocols.acp.session import SessionOpened
from weft.protocols.acp.updates import ConfigOption, choices
from weft.schema.events import Mode, ModelInfo
from weft.schema.messages import ThinkingConfig

_WORDS: dict[str, Mode] = {
    "default": "default",
    "ask": "default",
    "build": "default",
    "code": "default",
    "manual": "default",
    "agent": "acceptEdits",
    "readonly": "default",
    "plan": "plan",
    "architect": "plan",
    "acceptedits": "acceptEdits",
    "autoedit": "acceptEdits",
    "auto": "smart",
    "smart": "smart",
    "yolo": "bypassPermissions",
    "bypasspermissions": "bypassPermissions",
    "fullaccess": "bypassPermissions",
    "agentfullaccess": "bypassPermissions",
    "dontask": "dontAsk",
}


def to_mode(mode_id: str) -> Mode | None:
    """Our mode for an agent's id, whatever its spelling; None when we have no such mode."""
    return _WORDS.get("".join(letter for letter in mode_id.lower() if letter.isalnum()))


class Controls(msgspec.Struct, frozen=True):
    """What can be changed in this session. `modes` and `models` are the older way; options win over them."""

    options: tuple[ConfigOption, ...] = ()
    mode_ids: tuple[str, ...] = ()
    current_mode: str = ""
    model_ids: tuple[str, ...] = ()
    current_model: str = ""

    def of(self, category: str) -> ConfigOption | None:
        """A select of this category; an option may also be known by its id alone."""
        for option in self.options:
            if option.type == "select" and (option.category == category or option.id == category):
                return option
        return None

    @property
    def mode(self) -> Mode:
        option = self.of("mode")
        return to_mode(str(option.current_value) if option else self.current_mode) or "default"

    @property
    def modes(self) -> tuple[Mode, ...]:
        option = self.of("mode")
        ids = tuple(choice.value for choice in choices(option)) if option else self.mode_ids
        found: list[Mode] = []
        for mode in map(to_mode, ids):
            if mode is not None and mode not in found:
                found.append(mode)
        return tuple(found) or ("default",)

    @property
    def model(self) -> str:
        option = self.of("model")
        return str(option.current_value) if option else self.current_model

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        option = self.of("model")
        if option:
            return tuple(ModelInfo(c.value, c.name, c.description or "") for c in choices(option))
        return tuple(ModelInfo(model) for model in self.model_ids)

    @property
    def thinking(self) -> ThinkingConfig:
        option = self.of("thought_level")
        return to_thinking(str(option.current_value)) if option else ThinkingConfig()

    def with_mode(self, mode_id: str) -> "Controls":
        """The mode changed; the option and the older field tell the same."""
        options = tuple(
            msgspec.structs.replace(option, current_value=mode_id) if option is self.of("mode") else option
            for option in self.options
        )
        return msgspec.structs.replace(self, options=options, current_mode=mode_id)

    def mode_id(self, mode: Mode) -> str | None:
        """The agent's id for our mode; None when it has no such mode."""
        option = self.of("mode")
        ids = tuple(choice.value for choice in choices(option)) if option else self.mode_ids
        return next((id_ for id_ in ids if to_mode(id_) == mode), None)


def to_controls(opened: SessionOpened) -> Controls:
    modes, models = opened.modes, opened.models
    return Controls(
        options=opened.config_options or (),
        mode_ids=tuple(mode.id for mode in modes.available_modes) if modes else (),
        current_mode=modes.current_mode_id if modes else "",
        model_ids=tuple(str(model.get("modelId", "")) for model in models.available_models) if models else (),
        current_model=models.current_model_id if models else "",
    )


def to_thinking(value: str) -> ThinkingConfig:
    match value.lower():
        case "off" | "none" | "disabled" | "minimal":
            return ThinkingConfig()
        case "low" | "medium" | "high" | "xhigh" | "max" as effort:
            return ThinkingConfig("adaptive", effort=effort)
        case _:
            return ThinkingConfig("adaptive")


def thinking_id(thinking: ThinkingConfig, option: ConfigOption) -> str | None:
    """The value of `option` that is nearest to what we want."""
    ids = [choice.value for choice in choices(option)]
    if thinking.kind == "disabled":
        wanted = ["off", "none", "disabled", "minimal", "low", "default"]
    else:
        wanted = [thinking.effort or "medium", "think", "on", "enabled", "default"]
    lowered = {id_.lower(): id_ for id_ in ids}
    return next((lowered[word] for word in wanted if word in lowered), None)
