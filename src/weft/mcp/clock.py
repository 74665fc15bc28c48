"""The clock on one request: a limit on the whole, a limit on silence, and no time counted while a person is asked."""

import math

import anyio


class Clock:
    """`scope` is entered around the request; it is cancelled when the time is up. Progress calls `touch`."""

    def __init__(self, idle: float, limit: float | None) -> None:
        self.scope = anyio.CancelScope()
        self._idle = idle
        self._end = math.inf if limit is None else anyio.current_time() + limit
        self._left = 0.0
        self._pauses = 0
        self.touch()

    def touch(self) -> None:
        if not self._pauses:
            self.scope.deadline = min(anyio.current_time() + self._idle, self._end)

    def pause(self) -> None:
        if not self._pauses:
            self._left = self._end - anyio.current_time()
            self.scope.deadline = math.inf
        self._pauses += 1

    def resume(self) -> None:
        self._pauses -= 1
        if not self._pauses:
            self._end = anyio.current_time() + self._left
            self.touch()
