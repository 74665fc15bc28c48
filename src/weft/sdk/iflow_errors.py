"""The error classes of iFlow's SDK, and which of them each of ours is."""

import builtins

from weft.errors import (
    AgentEnded,
    AgentMissing,
    ConnectionLost,
    LoginRequired,
    PortTaken,
    ProviderError,
    RemoteProtocolError,
    SessionError,
    SettingsError,
    UsageError,
    WeftError,
    WorkspaceError,
)
from weft.errors import TransportError as BrokenTransport


class IFlowError(WeftError):
    """The base of this module's errors."""


class TimeoutError(IFlowError):
    """A connection or an operation took too long."""


class JSONDecodeError(IFlowError):
    """Text that should be JSON is not."""


class IFlowNotInstalledError(IFlowError):
    """The agent's command is not on this machine."""


class IFlowProcessError(IFlowError):
    """The agent's process could not be started, or ended."""


class PortNotAvailableError(IFlowError):
    """The port that the agent was to listen on is taken."""


class ConnectionError(IFlowError):
    """The agent cannot be reached."""


class TransportError(IFlowError):
    """The connection broke after it was made."""


class PermissionError(IFlowError):
    """A file may not be read."""


class ValidationError(IFlowError):
    """What was asked for makes no sense."""


class ProtocolError(IFlowError):
    """The agent broke the protocol, or refused a request of it."""


class AuthenticationError(IFlowError):
    """The agent wants a login, or its key is refused."""


NotInstalledError = IFlowNotInstalledError
ProcessError = IFlowProcessError

_KINDS: tuple[tuple[type[WeftError], type[IFlowError]], ...] = (
    (AgentMissing, IFlowNotInstalledError),
    (AgentEnded, IFlowProcessError),
    (PortTaken, PortNotAvailableError),
    (LoginRequired, AuthenticationError),
    (BrokenTransport, TransportError),
    (RemoteProtocolError, ProtocolError),
    (UsageError, ValidationError),
    (SettingsError, ValidationError),
    (SessionError, ValidationError),
    (WorkspaceError, PermissionError),
)


def to_iflow(error: WeftError, *, connected: bool) -> IFlowError:
    """The same failure by the name that iFlow's SDK has for it. Raise it from the error, which says more."""
    if isinstance(error, IFlowError):
        return error
    if isinstance(error, ProviderError):
        login = error.kind == "authentication_failed"
        return (AuthenticationError if login else IFlowError)(str(error), hint=error.hint)
    for ours, theirs in _KINDS:
        if isinstance(error, ours):
            return theirs(str(error), hint=error.hint)
    if not isinstance(error, ConnectionLost):
        return IFlowError(str(error), hint=error.hint)
    kind: type[IFlowError] = TransportError if connected else ConnectionError
    if isinstance(error.__cause__, builtins.TimeoutError):
        kind = TimeoutError
    elif isinstance(error.__cause__, RemoteProtocolError):
        kind = ProtocolError
    return kind(str(error), hint=error.hint)
