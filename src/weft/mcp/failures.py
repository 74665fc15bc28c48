"""Failures of peers, brought to one plain error."""

from typing import cast

from weft.errors import TransportError


class NeedsLogin(TransportError):
    """The server wants a login, and nobody has been asked for one yet."""


def flat(error: BaseException) -> Exception:
    """The first plain error of a group: what a person should read."""
    first: BaseException = error
    while isinstance(first, BaseExceptionGroup):
        first = cast("BaseExceptionGroup[BaseException]", first).exceptions[0]
    return first if isinstance(first, Exception) else RuntimeError(str(first))
