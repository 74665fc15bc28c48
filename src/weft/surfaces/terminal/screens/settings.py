"""Settings that can be changed from here, each with its value and the file that it comes from."""

from typing import TYPE_CHECKING, cast

import msgspec
from anyio import to_thread

from weft.errors import UsageError, WeftError
from weft.permissions.writing import rules_file
from weft.schema.content import Json
from weft.settings.write import edit_file
from weft.surfaces.panels import SETTINGS, Setting, check, put, settings_panel
from weft.surfaces.terminal.picker import Picker, Row
from weft.surfaces.terminal.screens.ask import pick
from weft.surfaces.terminal.words import t

if TYPE_CHECKING:
    from weft.surfaces.terminal.app import TerminalApp

OWN = (
    Setting("theme", "choice", "The colours of the terminal.", ("dark", "light", "terminal")),
    Setting("editorMode", "choice", "The keys of the composer.", ("normal", "vim")),
)


async def remember(app: "TerminalApp", key: str, value: object) -> None:
    """Writes it to the person's own settings; what cannot be written is said."""
    path = rules_file("user", str(app.parts.cwd), app.parts.env)
    assert path is not None

    def change(data: Json) -> None:
        put(data, key, value)

    def write() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        edit_file(path, change)

    try:
        await to_thread.run_sync(write)
    except (OSError, WeftError) as error:
        app.say(str(error), "warning")


async def show_settings(app: "TerminalApp") -> None:
    while True:
        settings = await to_thread.run_sync(app.parts.settings)
        shown = msgspec.convert(settings_panel(settings)["settings"], list[Setting])
        values = {setting.key: setting for setting in shown}
        rows = [
            Row(
                each.key,
                f"{each.key}: {_value(values.get(each.key, each).value, settings.values.get(each.key))}",
                t(each.description),
                values.get(each.key, each).origin,
            )
            for each in (*OWN, *SETTINGS)
        ]
        found = await pick(app, Picker(t("Settings"), rows, app.look))
        if found is None:
            return
        setting = next(each for each in (*OWN, *SETTINGS) if each.key == found.id)
        value = await ask_value(app, values.get(setting.key, setting))
        if value is None:
            continue
        await remember(app, setting.key, value)
        if setting.key == "theme":
            app.use_theme(str(value))


def _value(value: object, fallback: object = None) -> str:
    shown = value if value is not None else fallback
    if isinstance(shown, bool):
        return t("yes") if shown else t("no")
    return str(shown) if shown is not None else t("not set")


async def ask_value(app: "TerminalApp", setting: Setting) -> object:
    """A new value that fits, or None."""
    if setting.kind in ("boolean", "choice"):
        options = ("yes", "no") if setting.kind == "boolean" else setting.choices
        found = await pick(app, Picker(setting.key, [Row(each, t(each)) for each in options], app.look))
        return None if found is None else found.id == "yes" if setting.kind == "boolean" else found.id
    from weft.surfaces.terminal.screens.line import ask_line

    text = await ask_line(app, setting.key, t(setting.description), "" if setting.value is None else str(setting.value))
    if text is None:
        return None
    try:
        value = cast(object, int(text)) if setting.kind == "number" else text
        check(setting, value)
    except (ValueError, UsageError) as error:
        app.say(str(error), "warning")
        return None
    return value
