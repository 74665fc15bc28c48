"""Settings and permission rules as a surface shows them, and what may be changed there."""

from typing import Final, Literal, cast

import msgspec

from weft.errors import UsageError
from weft.permissions.rules import from_settings
from weft.permissions.writing import rules_file
from weft.schema.content import Json
from weft.schema.events import MODES
from weft.settings import Settings
from weft.settings.known import SettingsFile
from weft.settings.layers import as_list, as_object


class Setting(msgspec.Struct, frozen=True, rename="camel"):
    """A setting that can be changed from a surface. `key` is its path in the file."""

    key: str
    kind: Literal["text", "boolean", "number", "choice"]
    description: str
    choices: tuple[str, ...] = ()
    value: object = None
    origin: str = ""


SETTINGS: Final = (
    Setting("model", "text", "The model that new conversations begin with."),
    Setting("fallbackModel", "text", "The model that takes over when the first one is overloaded."),
    Setting("permissions.defaultMode", "choice", "The mode that new conversations begin in.", MODES),
    Setting("respectGitignore", "boolean", "Files that git ignores are not offered while you write."),
    Setting("autoConnectIde", "boolean", "Attach to the editor that has the folder open."),
    Setting("shareIdeContext", "boolean", "The model is told what you look at in the editor."),
    Setting("diffTool", "choice", "Where changes are shown: auto is the editor as well.", ("auto", "terminal")),
    Setting("detectParticipants", "boolean", "A prompt that is clearly for a plug-in goes to it without being named."),
)


def permissions_panel(settings: Settings, folder: str) -> Json:
    """Every rule that counts here, with the file it stands in."""
    collected = from_settings(settings)
    rules: list[Json] = []
    for rule in collected.rules:
        path = rules_file(rule.scope, folder)
        removable = path is not None and str(path) == rule.source
        rules.append(
            {
                "rule": rule.text,
                "behavior": rule.behavior,
                "layer": rule.scope,
                "origin": f"{rule.scope}: {rule.source}" if rule.source else rule.scope,
                "removable": removable,
            }
        )
    return {"rules": rules, "problems": list(collected.problems), "trusted": settings.trusted}


def settings_panel(settings: Settings) -> Json:
    shown: list[Setting] = []
    for setting in SETTINGS:
        value: object = _default(setting.key)
        origin = ""
        for layer in settings.layers:
            found = get(layer.data, setting.key)
            if found is not None:
                value, origin = found, f"{layer.scope}: {layer.path}"
        shown.append(msgspec.structs.replace(setting, value=value, origin=origin))
    return {"settings": msgspec.to_builtins(shown)}


def _default(key: str) -> object:
    """What Weft does when no file says anything."""
    head, _, rest = key.partition(".")
    value: object = SettingsFile()
    for name in (head, rest):
        if name:
            fields = {
                field.encode_name: field.name for field in msgspec.structs.fields(type(cast(msgspec.Struct, value)))
            }
            value = getattr(value, fields[name])
    return value


def check(setting: Setting, value: object) -> None:
    """
    Raises:
        UsageError: the value does not fit.
    """
    fits = {
        "boolean": isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "text": isinstance(value, str) and len(value) <= 1000,
        "choice": value in setting.choices,
    }
    if not fits[setting.kind]:
        raise UsageError(f"{setting.key} cannot be {value!r}")


def get(data: Json, key: str) -> object:
    head, _, rest = key.partition(".")
    found = data.get(head)
    return get(as_object(found), rest) if rest else found


def put(data: Json, key: str, value: object) -> None:
    head, _, rest = key.partition(".")
    if not rest:
        data[head] = value
        return
    inner = dict(as_object(data.get(head)))
    put(inner, rest, value)
    data[head] = inner


def take_out(data: Json, rule: str, behavior: str) -> None:
    """Takes a permission rule out of a settings file's data."""
    permissions = dict(as_object(data.get("permissions")))
    permissions[behavior] = [text for text in as_list(permissions.get(behavior)) if text != rule]
    data["permissions"] = permissions
