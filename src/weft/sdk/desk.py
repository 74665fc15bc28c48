"""What slash commands see of a session."""

from pathlib import Path
from typing import TYPE_CHECKING

from weft.agent.commands.port import Desk, Fill, NoServers
from weft.agent.control import SessionControl
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

    desk = Desk(
        info=ground.state.info,
        ledger=lambda: bench.ledger.state,
        todos=lambda: ground.state.todos,
        fill=fill,
        pieces=bench.pieces,
        records=records,
        sessions=lambda: ground.store.list(ground.options.cwd),
        rules=rules,
        run=control.shell,
        may_read=may_read,
        servers=bench.servers or NoServers(),
        home=ground.home,
    )
    if bench.editor is not None:
        desk.ide = bench.editor.command
        desk.looked_at = bench.editor.context
        desk.pointed_at = bench.editor.mentions
    return desk
