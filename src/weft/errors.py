"""Every error that Weft raises, as one tree.

    WeftError
    ├── UsageError               the person asked for something impossible; exit 2
    ├── SettingsError            a settings file cannot be used
    ├── LocalProtocolError       our side broke a protocol: a bug in Weft or in its caller
    ├── RemoteProtocolError      the peer broke a protocol
    ├── TransportError           a socket, pipe or process failed
    │   └── TransportTimeout     it went silent for longer than allowed
    ├── ProviderError            a model could not answer (`kind`, `status`, `retry_after`)
    ├── ToolError                a tool cannot do this; the sentence goes to the model
    ├── WorkspaceError           a file or command is out of reach
    ├── SessionError             a session cannot be read, found or written
    └── ConnectionLost           an agent that we drive went away
        ├── AgentMissing         its command is not on this machine
        ├── AgentEnded           its process could not be started, or ended
        ├── PortTaken            the port that it was to listen on is somebody else's
        └── LoginRequired        it wants a login first

A failing tool is a result, not an exception: `ToolError` never leaves `agent/dispatch`.
"""

from typing import Literal

ProviderErrorKind = Literal[
    "authentication_failed",
    "billing_error",
    "rate_limit",
    "overloaded",
    "invalid_request",
    "model_not_found",
    "prompt_too_long",
    "too_large",
    "server_error",
    "connection",
    "timeout",
    "cut",
    "protocol",
    "unknown",
]


class WeftError(Exception):
    """The base of all. `hint` says what the person can do next."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def whole(self) -> str:
        """The message and the hint, as sentences on one line."""
        return str(self) if self.hint is None else f"{str(self).rstrip('.')}. {self.hint}"


class UsageError(WeftError):
    """A flag, an argument or an environment that cannot work."""


class SettingsError(WeftError):
    """A settings file that cannot be used; the message has its path, line and column."""


class LocalProtocolError(WeftError):
    """We were about to send something that the protocol forbids."""


class RemoteProtocolError(WeftError):
    """The peer sent something that the protocol forbids."""


class TransportError(WeftError):
    """A connection, pipe or process failed or could not be opened."""


class TransportTimeout(TransportError):
    """Nothing arrived for longer than the limit."""


class ProviderError(WeftError):
    """A model request failed. `retryable` is the server's or the wire's verdict, not a policy."""

    def __init__(
        self,
        message: str,
        *,
        kind: ProviderErrorKind = "unknown",
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        request_id: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind: ProviderErrorKind = kind
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.request_id = request_id


class ToolError(WeftError):
    """A tool says no: the message is a sentence that the model can act on."""


class WorkspaceError(WeftError):
    """A path or a command that the workspace does not reach."""


class SessionError(WeftError):
    """A session that cannot be found, read or written."""


class ConnectionLost(WeftError):
    """The agent at the other end of a `Connection` is gone."""


class AgentMissing(ConnectionLost):
    """The agent's command is not on this machine; the hint says how it is installed, where that is known."""


class AgentEnded(ConnectionLost):
    """The agent's process could not be started, or ended when it was needed."""


class PortTaken(ConnectionLost):
    """Something else listens on the port that the agent was to have."""


class LoginRequired(ConnectionLost):
    """The agent wants a login; the hint names the ways that it offers."""
