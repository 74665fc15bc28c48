"""ExitPlanMode: the plan, for the person to approve."""

from typing import Annotated

import msgspec
from msgspec import Meta

from weft.errors import ToolError, UsageError
from weft.schema.display import Display, TextView
from weft.tools.port import Result, Tool, ToolContext


class ExitPlanModeArgs(msgspec.Struct, frozen=True):
    plan: Annotated[str, Meta(description="The plan, in Markdown: short, concrete, in steps.", min_length=1)]


class ExitPlanMode(Tool[ExitPlanModeArgs]):
    name = "ExitPlanMode"
    args = ExitPlanModeArgs
    aliases = ("exit_plan_mode",)
    kind = "switch_mode"
    group = "other"

    def title(self, args: ExitPlanModeArgs) -> str:
        return "Propose a plan"

    async def preview(self, args: ExitPlanModeArgs, context: ToolContext) -> tuple[Display, ...]:
        return (TextView(args.plan, markdown=True),)

    async def run(self, args: ExitPlanModeArgs, context: ToolContext) -> Result:
        verdict = await context.asker.plan(context.use.id, args.plan)
        if verdict is None:
            raise ToolError("nobody is there to approve a plan. End your turn with the plan as your answer.")
        view = TextView(args.plan, markdown=True)
        if not verdict.approved:
            said = f" They said: {verdict.feedback}" if verdict.feedback else ""
            return Result(
                content=f"The person did not approve the plan.{said} Plan mode stays on: change the plan, or ask.",
                is_error=True,
                display=(view,),
            )
        try:
            context.session.set_mode(verdict.mode)
        except UsageError as error:
            raise ToolError(f"the plan is approved, but the mode cannot change: {error}") from error
        said = f" They added: {verdict.feedback}" if verdict.feedback else ""
        return Result(
            content=f"The person approved the plan.{said} Begin now, and keep to it.",
            display=(view,),
            data={"plan": args.plan, "isAgent": False},
        )
