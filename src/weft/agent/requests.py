"""History and sources become a request."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from weft.agent.history import History
from weft.agent.state import State
from weft.agent.toolbox import ToolBox
from weft.agent.wishes import EFFORTS
from weft.context.assemble import Assembler
from weft.context.port import View
from weft.schema.content import Json
from weft.schema.messages import Request, ThinkingConfig

DEFAULT_OUTPUT = 32_000


class Facts(Protocol):
    """What is known of a model; 0 where nothing is."""

    @property
    def context_window(self) -> int: ...

    @property
    def max_output(self) -> int: ...


class Requests:
    """Makes the requests of one thread. The same history and state give the same bytes, so that caching works."""

    def __init__(
        self,
        *,
        state: State,
        box: ToolBox,
        assembler: Assembler,
        view: Callable[[], View],
        facts: Callable[[str], Facts],
        betas: tuple[str, ...] = (),
        max_output: int | None = None,
        metadata: Json | None = None,
        model: Callable[[], str] | None = None,
        effort: str | None = None,
        task_budget: int | None = None,
    ) -> None:
        self._state = state
        self._box = box
        self._assembler = assembler
        self._view = view
        self._facts = facts
        self._betas = betas
        self._max_output = max_output
        self._metadata = metadata
        self._fixed_model = model
        self._effort = effort
        self._task_budget = task_budget

    @property
    def model(self) -> str:
        return self._fixed_model() if self._fixed_model is not None else self._state.model

    @property
    def window(self) -> int:
        return self._facts(self.model).context_window

    def sizes(self) -> dict[str, int]:
        facts = self._facts(self.model)
        return {"context_window": facts.context_window, "max_output": facts.max_output}

    async def __call__(self, history: History) -> Request:
        return Request(
            model=self.model,
            messages=tuple(history.messages),
            system=self._assembler.system(self._view()),
            tools=self._box.specs(),
            max_tokens=self._output_limit(),
            thinking=self._thinking(),
            betas=self._betas,
            metadata=self._metadata,
            task_budget=self._task_budget,
        )

    def _thinking(self) -> ThinkingConfig:
        thinking = self._state.thinking
        return thinking if self._effort not in EFFORTS else msgspec.structs.replace(thinking, effort=self._effort)

    def _output_limit(self) -> int:
        """`max_output` may lower or raise it, never above what the model can do."""
        known = self._facts(self.model).max_output
        limit = self._max_output or min(known or DEFAULT_OUTPUT, DEFAULT_OUTPUT)
        return min(limit, known) if known else limit


def wanted_output(env: Mapping[str, str]) -> int | None:
    """What `CLAUDE_CODE_MAX_OUTPUT_TOKENS` asks for."""
    text = env.get("CLAUDE_CODE_MAX_OUTPUT_TOKENS")
    return int(text) if text is not None and text.isdigit() and int(text) > 0 else None
