"""EnterPlanMode: think first, change nothing until the person approved."""

import msgspec

from weft.errors import ToolError, UsageError
from weft.tools.port import Result, Tool, ToolContext


class EnterPlanModeArgs(msgspec.Struct, frozen=True):
    pass


class EnterPlanMode(Tool[EnterPlanModeArgs]):
    name = "EnterPlanMode"
    args = EnterPlanModeArgs
    kind = "switch_mode"
    group = "other"

    def title(self, args: EnterPlanModeArgs) -> str:
        return "Plan first"

    async def run(self, args: EnterPlanModeArgs, context: ToolContext) -> Result:
        try:
            context.session.set_mode("plan")
        except UsageError as error:
            raise ToolError(str(error)) from error
        return Result(
            content="Plan mode is on: look around and think, change nothing. Propose the plan with ExitPlanMode.",
            data={"message": "Plan mode is on."},
        )
