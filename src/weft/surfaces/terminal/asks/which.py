"""Which panel asks what."""

from typing import assert_never

from weft.schema import events as e
from weft.surfaces.terminal.asks.form import FormPanel
from weft.surfaces.terminal.asks.panel import Panel
from weft.surfaces.terminal.asks.permission import PermissionPanel
from weft.surfaces.terminal.asks.plan import PlanPanel
from weft.surfaces.terminal.asks.question import QuestionPanel
from weft.surfaces.terminal.model import Ask
from weft.surfaces.terminal.paint.palette import Palette


def make_panel(ask: Ask, look: Palette, cwd: str) -> Panel:
    match ask:
        case e.PermissionAsked():
            return PermissionPanel(ask, look, cwd)
        case e.QuestionAsked():
            return QuestionPanel(ask, look)
        case e.PlanProposed():
            return PlanPanel(ask, look)
        case e.InputRequested():
            return FormPanel(ask, look)
    assert_never(ask)
