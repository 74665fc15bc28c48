"""How things are, and switching some of it: servers, rules, hooks, agents, background tasks."""

from typing import TYPE_CHECKING, Literal, cast

from anyio import to_thread

from weft.errors import WeftError
from weft.permissions.writing import rules_file
from weft.schema import commands as c
from weft.schema.content import Json
from weft.settings.layers import as_list, as_object
from weft.settings.write import edit_file
from weft.surfaces.panels import permissions_panel, take_out
from weft.surfaces.terminal.picker import Picker, Row
from weft.surfaces.terminal.screens.ask import pick
from weft.surfaces.terminal.words import t

if TYPE_CHECKING:
    from weft.surfaces.terminal.app import TerminalApp

SERVER_KEYS: dict[str, Literal["enable", "disable", "reconnect"]] = {
    "ctrl+e": "enable",
    "ctrl+x": "disable",
    "enter": "reconnect",
}


async def show_servers(app: "TerminalApp") -> None:
    info = app.conversation.model.info
    rows = [
        Row(each.name, each.name, _about_server(each.state, len(each.tools), each.error or each.scope))
        for each in (info.servers if info is not None else ())
    ]
    keys = {"ctrl+e": "switch on", "ctrl+x": "switch off"}
    empty = t("No MCP server is configured; weft mcp add adds one.")
    found = await pick(app, Picker(t("MCP servers (enter connects again)"), rows, app.look, keys=keys, empty=empty))
    if found is not None:
        app.conversation.send(c.ServerCommand(found.id, SERVER_KEYS[found.key]))


def _about_server(state: str, tools: int, more: str) -> str:
    return " · ".join(part for part in (t(state), t("{n} tools", n=tools), more) if part)


async def show_permissions(app: "TerminalApp") -> None:
    """Every rule with its file. Ctrl+X takes one out of a file that is the person's to change."""
    while True:
        settings = await to_thread.run_sync(app.parts.settings)
        found = permissions_panel(settings, str(app.parts.cwd))
        rules = [cast(Json, rule) for rule in as_list(found["rules"])]
        rows = [
            Row(str(n), f"{t(str(rule['behavior']))}  {rule['rule']}", str(rule["origin"]))
            for n, rule in enumerate(rules)
        ]
        empty = t("No rules are set: what changes something is asked about.")
        keys = {"ctrl+x": "take this rule out"}
        chosen = await pick(app, Picker(t("Permissions"), rows, app.look, keys=keys, empty=empty))
        if chosen is None or chosen.key != "ctrl+x":
            return
        await _remove_rule(app, rules[int(chosen.id)])


async def _remove_rule(app: "TerminalApp", rule: Json) -> None:
    path = rules_file(str(rule["layer"]), str(app.parts.cwd), app.parts.env)
    if path is None or not rule["removable"]:
        app.say(t("This rule is not kept in a file that can be changed here."), "warning")
        return

    def change(data: Json) -> None:
        take_out(data, str(rule["rule"]), str(rule["behavior"]))

    try:
        await to_thread.run_sync(edit_file, path, change)
    except WeftError as error:
        app.say(str(error), "warning")


async def show_hooks(app: "TerminalApp") -> None:
    settings = await to_thread.run_sync(app.parts.settings)
    rows: list[Row] = []
    for event, matchers in settings.section("hooks").items():
        for matcher in as_list(matchers):
            entry = as_object(matcher)
            for hook in as_list(entry.get("hooks")):
                command = as_object(hook)
                what = str(command.get("command") or command.get("type") or "")
                rows.append(Row(str(len(rows)), f"{event} {entry.get('matcher') or '*'}", what))
    await pick(app, Picker(t("Hooks"), rows, app.look, empty=t("No hooks are set.")))


async def show_agents(app: "TerminalApp") -> None:
    """Choosing one begins a prompt for it."""
    info = app.conversation.model.info
    rows = [Row(name, name) for name in (info.agents if info is not None else ())]
    empty = t("There are no agents here; they are files in .claude/agents.")
    found = await pick(app, Picker(t("Agents"), rows, app.look, empty=empty))
    if found is not None:
        app.composer.put(f"@agent-{found.id} ")


async def show_tasks(app: "TerminalApp") -> None:
    tasks = app.conversation.model.tasks
    rows = [
        Row(
            each.id,
            each.description or each.id,
            " · ".join(part for part in (t(each.state), each.agent, each.summary) if part),
        )
        for each in reversed(tasks.values())
    ]
    keys = {"ctrl+x": "stop it"}
    picker = Picker(t("In the background"), rows, app.look, keys=keys, empty=t("Nothing runs in the background."))
    found = await pick(app, picker)
    if found is not None and found.key == "ctrl+x":
        app.conversation.send(c.StopTask(found.id))
