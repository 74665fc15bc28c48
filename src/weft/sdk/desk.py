"""What slash commands see of a session."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from weft.agent.commands.port import Desk, Fill, NoServers
from weft.agent.control import SessionControl
from weft.schema.content import Json
from weft.schema.records import Record

if TYPE_CHECKING:
    from weft.sdk.compose import Ground
    from weft.sdk.workbench import Workbench


def make_desk(ground: "Ground", bench: "Workbench", control: SessionControl) -> Desk:
    def fill() -> Fill:
        return Fill(control.used(), ground.facts(ground.state.model).context_window)

    def records() -> tuple[Record, ...]:
        return tuple(ground.store.load(ground.conversation.session_id)) if ground.options.persist else ()

    def may_read(path: Path) -> bool:
        return not ground.gate.hides("Read", {"file_path": str(path)})

    def rules() -> list[str]:
        return [f"{rule.behavior} {rule.text} ({rule.scope})" for rule in ground.gate.rules]

    def hooks() -> list[str]:
        return list(_hook_rows(ground.settings.section("hooks")))

    desk = Desk(
        info=ground.state.info,
        ledger=lambda: bench.ledger.state,
        todos=lambda: ground.state.todos,
        fill=fill,
        pieces=bench.pieces,
        records=records,
        sessions=lambda: ground.store.list(ground.options.cwd),
        rules=rules,
        hooks=hooks,
        run=control.shell,
        may_read=may_read,
        servers=bench.servers or NoServers(),
        become=lambda name: bench.main_agent.become(name),
        home=ground.home,
        checks=_checks,
    )
    if bench.editor is not None:
        desk.ide = bench.editor.command
        desk.looked_at = bench.editor.context
        desk.pointed_at = bench.editor.mentions
    return desk


async def _checks() -> str:
    from weft.sdk.examination import checks

    return await checks()


class _Command(msgspec.Struct):
    type: str = "command"
    command: str = ""
    url: str = ""


class _Group(msgspec.Struct):
    matcher: str = ""
    hooks: list[_Command] = []


def _hook_rows(section: Json) -> Iterator[str]:
    """A line for each hook of the settings; an entry of another shape is shown as such."""
    for event, value in section.items():
        try:
            groups = msgspec.convert(value, list[_Group])
        except msgspec.ValidationError:
            yield f"{event}: not readable"
            continue
        for group in groups:
            for hook in group.hooks:
                on = f" on {group.matcher}" if group.matcher not in ("", "*") else ""
                yield f"{event}{on}: {hook.command or hook.url or hook.type}"
