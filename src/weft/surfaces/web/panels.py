"""Settings, permissions and usage for the page. Only settings that are listed can be changed from it."""

from collections.abc import Callable, Sequence

from anyio import to_thread

from weft.errors import UsageError
from weft.permissions.writing import rules_file
from weft.schema.content import Json
from weft.sessions.port import SessionStore
from weft.settings import Settings
from weft.settings.write import edit_file
from weft.surfaces.panels import SETTINGS, check, permissions_panel, put, settings_panel, take_out
from weft.surfaces.web.usage import usage_panel

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
            take_out(data, rule, behavior)

        await to_thread.run_sync(edit_file, path, change)
