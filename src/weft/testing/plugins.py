"""A host, a call and an answer for tests of plug-ins: real parts on a folder, no session and no model."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from weft.errors import ToolError
from weft.extend.api import Call, ChatMessage, Json, Model, ToolInformation, ToolResult
from weft.extend.models import Access, ModelFactsView, SessionModel, choose
from weft.extend.stream import ResponseStream
from weft.providers.port import Provider
from weft.schema.events import AgentEvent, Question
from weft.sessions import tokens
from weft.testing.tool_context import fake_tool_context
from weft.tools.port import Progress
from weft.workspace.local import LocalWorkspace

__all__ = ["ChatMessage", "FakeHost", "FakeModels", "fake_call", "fake_stream"]


class FakeModels:
    """One model, played by `provider`; `consent` is the person's answer. `results` are what tools answer."""

    def __init__(self, provider: Provider | None = None, *, consent: bool = True) -> None:
        self._provider = provider
        self.consent = consent
        self.tools: tuple[ToolInformation, ...] = ()
        self.results: dict[str, ToolResult] = {}

    async def invoke_tool(self, name: str, input: Json) -> ToolResult:
        if name not in self.results:
            raise ToolError(f"there is no tool {name!r}")
        return self.results[name]

    async def select(self, *, vendor: str = "", family: str = "", version: str = "", id: str = "") -> list[Model]:
        provider = self._provider
        if provider is None:
            return []

        async def allowed(plugin: str, justification: str) -> bool:
            return self.consent

        async def opened(id: str) -> tuple[Provider, str]:
            return provider, id

        facts = ModelFactsView(
            id="fake-1", name="Fake", vendor="fake", family="fake", version="1", max_input_tokens=100_000
        )
        model: Model = SessionModel(facts, "fake", Access(consent=allowed, open=opened))
        return choose([model], vendor=vendor, family=family, version=version, id=id)

    def can_send(self) -> bool | None:
        return self.consent


class FakeHost:
    """A host on a folder. `context` has the keys that the plug-in set, `spawned` the work it started: run it."""

    def __init__(self, folder: Path, *, plugin: str = "fake", lm: FakeModels | None = None) -> None:
        self.plugin = plugin
        self.lm = lm or FakeModels()
        self.folders = (folder,)
        self.settings: Json = {}
        self.context: dict[str, object] = {}
        self.spawned: list[Callable[[], Awaitable[None]]] = []
        self._storage = folder / ".storage"

    @property
    def storage(self) -> Path:
        self._storage.mkdir(exist_ok=True)
        return self._storage

    def set_context(self, key: str, value: object) -> None:
        self.context[key] = value

    def spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        self.spawned.append(work)


def fake_call(
    folder: Path, *, host: FakeHost | None = None, told: list[Progress] | None = None, budget: int = 25_000
) -> Call:
    """A call on this folder. What the tool reports goes into `told`."""
    notes: list[Progress] = told if told is not None else []
    return Call(
        host=host or FakeHost(folder),
        context=fake_tool_context(LocalWorkspace((folder,)), cwd=folder, progress=notes.append),
        token_budget=budget,
        count_tokens=tokens.of_text,
    )


def fake_stream(events: list[AgentEvent], *, answer: str | None = None) -> ResponseStream:
    """An answer whose events go into a list; questions are answered with `answer`, edits are refused."""

    async def ask(tool_use_id: str, questions: Sequence[Question]) -> dict[str, str] | None:
        return None if answer is None else {questions[0].question: answer}

    async def edit(name: str, input: Json) -> str:
        raise ToolError("nothing is edited here")

    return ResponseStream("fake", events.append, ask, edit)
