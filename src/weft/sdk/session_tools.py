"""Tools that are made for one session."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from weft.agent.commands.port import ServerPrompts
from weft.agent.skills import Skill as SkillFile
from weft.errors import ToolError
from weft.schema.content import Json
from weft.tools.port import AnyTool

if TYPE_CHECKING:
    from weft.tools.skill import Loaded


class SessionTools:
    """StructuredOutput where a schema was given, Skill where there are skills for the model."""

    def __init__(
        self,
        *,
        names: tuple[str, ...] | None,
        schema: Json | None,
        skills: Callable[[], dict[str, SkillFile]],
        session_id: Callable[[], str],
        cwd: Callable[[], Path],
        servers: Callable[[], ServerPrompts],
    ) -> None:
        self._names = names
        self._schema = schema
        self._skills = skills
        self._session_id = session_id
        self._cwd = cwd
        self._servers = servers
        self._made: dict[str, AnyTool] = {}

    def __call__(self) -> Iterable[AnyTool]:
        if self._schema is not None:
            if "StructuredOutput" not in self._made:
                from weft.tools.structured_output import StructuredOutput

                self._made["StructuredOutput"] = StructuredOutput(self._schema)
            yield self._made["StructuredOutput"]
        wanted = self._names is None or "Skill" in self._names
        offered = (*self._skills().values(), *self._servers().skills()) if wanted else ()
        if any(skill.for_model for skill in offered):
            if "Skill" not in self._made:
                from weft.tools.skill import Skill

                self._made["Skill"] = Skill(self._load)
            yield self._made["Skill"]

    async def _load(self, name: str, arguments: str) -> "Loaded":
        """The skill's text. Commands in it are shown, not run: the model runs them through the gate if it has to."""
        known = {each.name: each for each in self._skills().values() if each.for_model}
        remote = {each.name for each in self._servers().skills() if each.for_model}
        if name in remote and name not in known:
            from weft.tools.skill import Loaded

            return Loaded(await self._servers().skill(name, arguments))
        if name not in known:
            names = ", ".join(sorted({*known, *remote})) or "none"
            raise ToolError(f"there is no skill {name!r}. The skills are: {names}")
        parts = known[name].parts(arguments, session_id=self._session_id(), cwd=self._cwd())
        text = "".join(f"`{part.text}`" if part.kind == "shell" else part.text for part in parts)
        from weft.agent.intake import GENERAL
        from weft.tools.skill import Loaded

        return Loaded(text, known[name].agent or (GENERAL if known[name].fork else None))
