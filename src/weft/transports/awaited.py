"""A value that somebody else will give: set once, waited for once."""

from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Awaited(Generic[T]):
    """The first value counts; later ones are ignored."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._values: list[T] = []

    def set(self, value: T) -> None:
        if not self._values:
            self._values.append(value)
            self._event.set()

    async def wait(self) -> T:
        await self._event.wait()
        return self._values[0]
