"""Leaving several things in order, also when the leaving is cancelled."""

from contextlib import AsyncExitStack
from types import TracebackType


class ExitStack(AsyncExitStack):
    """The standard stack, safe around task groups.

    A task group that is left with a cancellation raises that same exception again. When another exception is being
    handled, the standard stack then makes the cancellation its own context, and anyio, which follows the contexts of
    a cancelled task to their end, runs round for ever.
    """

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None:
        try:
            return await super().__aexit__(kind, error, trace)
        except BaseException as raised:
            _unwind(raised)
            raise


def _unwind(error: BaseException) -> None:
    """Cuts the chain of contexts where it comes back to itself."""
    seen = {id(error)}
    while error.__context__ is not None:
        if id(error.__context__) in seen:
            error.__context__ = None
            return
        error = error.__context__
        seen.add(id(error))
