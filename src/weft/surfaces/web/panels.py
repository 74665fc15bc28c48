"""Settings, permissions and usage for the page. Only settings that are listed here can be changed from it."""

from collections.abc import Callable, Sequence
from typing import Final, Literal, cast

import msgspec
from anyio import to_thread

from weft.errors import UsageError
from weft.permissions.rules import from_settings
from weft.permissions.writing import rules_file
from weft.schema.content import Json
from weft.schema.events import MODES
from weft.sessions.port import SessionStore
from weft.settings import Settings
from weft.settings.known import SettingsFile
from weft.settings.layers import as_list, as_object
from weft.settings.write import edit_file
from weft.surfaces.web.usage import usage_panel


class Setting(msgspec.Struct, frozen=True, rename="camel"):
    """A setting that can be changed from the page. `key` is its path in the file."""

    key: str
    kind: Literal["text", "boolean", "number", "choice"]
    description: str
    choices: tuple[str, ...] = ()
    value: object = None
    origin: str = ""


SETTINGS: Final = (
    Setting("model", "text", "The model that new conversations begin with."),
    Setting("smallModel", "text", "The model for small jobs, such as titles and summaries."),
    Setting("permissions.defaultMode", "choice", "The mode that new conversations begin in.", MODES),
    Setting("alwaysThinkingEnabled", "boolean", "Models that can think do so from the beginning."),
    Setting("autoCompactEnabled", "boolean", "A conversation that fills the window is made shorter by itself."),
    Setting("includeCoAuthoredBy", "boolean", "Commits name the agent as a co-author."),
    Setting("respectGitignore", "boolean", "Files that git ignores are left out of listings."),
    Setting("cleanupPeriodDays", "number", "Days after which old conversations are deleted."),
    Setting("language", "text", "The language that the agent answers in."),
)
LoadSettings = Callable[[str], Settings]


class HostPanels:
    """Implements `Panels`. `load` reads the settings of a folder, as a session there would see them."""

    def __init__(self, load: LoadSettings, store: SessionStore) -> None:
        self._load = load
        self._store = store

    def names(self) -> Sequence[str]:
        return ("settings", "permissions", "usage")

    async def read(self, panel: str, folder: str) -> Json:
        if panel == "usage":
            return await to_thread.run_sync(usage_panel, self._store, folder)
        settings = await to_thread.run_sync(self._load, folder)
        if panel == "permissions":
            return permissions_panel(settings, folder)
        if panel == "settings":
            return settings_panel(settings)
        raise UsageError(f"There is no view called {panel}")

    async def set_setting(self, key: str, value: object, layer: str, folder: str) -> None:
        """
        Raises:
            UsageError: it is not one of the settings on the page, or not a value for it.
            SettingsError: the file cannot be changed.
        """
        setting = next((setting for setting in SETTINGS if setting.key == key), None)
        path = rules_file(layer, folder)
        if setting is None or path is None:
            raise UsageError(f"{key} cannot be changed here")
        check(setting, value)

        def change(data: Json) -> None:
            put(data, key, value)

        await to_thread.run_sync(edit_file, path, change)

    async def remove_rule(self, rule: str, behavior: str, layer: str, folder: str) -> None:
        """
        Raises:
            UsageError: rules of this layer are not ours to change.
        """
        path = rules_file(layer, folder)
        if path is None:
            raise UsageError("This rule is not kept in a file that can be changed here")

        def change(data: Json) -> None:
            permissions = dict(as_object(data.get("permissions")))
            permissions[behavior] = [text for text in as_list(permissions.get(behavior)) if text != rule]
            data["permissions"] = permissions

        await to_thread.run_sync(edit_file, path, change)


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
