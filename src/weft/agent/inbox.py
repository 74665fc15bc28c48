"""The prompts that wait, in order."""

from collections.abc import Callable

import anyio
import msgspec

from weft.schema.commands import DropPrompt, Prompt
from weft.schema.content import text_of
from weft.schema.events import QueuedPrompt


class Inbox:
    """`put` never waits. `next` waits for a prompt; `take_steering` takes those that may join a running turn."""

    def __init__(self, changed: Callable[[tuple[QueuedPrompt, ...]], None]) -> None:
        self._changed = changed
        self._waiting: list[Prompt] = []
        self._news = anyio.Event()
        self._closed = False
        self._told = False
        """Whether the last that was told of are prompts that wait."""

    @property
    def waiting(self) -> tuple[Prompt, ...]:
        return tuple(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, prompt: Prompt, *, busy: bool) -> None:
        self._waiting.append(prompt)
        self._news.set()
        if busy:
            self._tell()

    def drop(self, command: DropPrompt) -> bool:
        for place, prompt in enumerate(self._waiting):
            if prompt.id == command.id:
                if command.replace is None:
                    del self._waiting[place]
                else:
                    self._waiting[place] = msgspec.structs.replace(prompt, content=command.replace)
                self._tell()
                return True
        return False

    def clear(self) -> None:
        if self._waiting:
            self._waiting.clear()
            self._tell()

    def close(self) -> None:
        """No more will come: `next` returns None once all are taken."""
        self._closed = True
        self._news.set()

    async def next(self) -> Prompt | None:
        while not self._waiting:
            if self._closed:
                return None
            self._news = anyio.Event()
            await self._news.wait()
        prompt = self._waiting.pop(0)
        if self._waiting or self._told:
            self._tell()
        return prompt

    def take_steering(self) -> list[Prompt]:
        taken = [prompt for prompt in self._waiting if prompt.steer and not _is_command(prompt)]
        if taken:
            self._waiting = [prompt for prompt in self._waiting if prompt not in taken]
            self._tell()
        return taken

    def _tell(self) -> None:
        self._told = bool(self._waiting)
        self._changed(tuple(QueuedPrompt(prompt.id, text_of(prompt.content)) for prompt in self._waiting))


def _is_command(prompt: Prompt) -> bool:
    return not prompt.verbatim and text_of(prompt.content).lstrip().startswith(("/", "!", "#"))
