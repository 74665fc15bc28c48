"""Why an ACP agent cannot be used, as one error that says what to do."""

from weft.connect.acp.start import ChildAgent, Opener
from weft.errors import AgentEnded, ConnectionLost, LoginRequired, TransportError
from weft.protocols.acp import session as s
from weft.protocols.acp.frames import AUTH_REQUIRED, RpcError, explained


def to_lost(error: Exception, opener: Opener, agent: s.Initialized) -> ConnectionLost:
    if isinstance(error, RpcError) and error.code == AUTH_REQUIRED:
        names = ", ".join(f"{m.id} ({m.name})" for m in agent.auth_methods or ())
        return LoginRequired(
            "the agent wants a login first",
            hint=f"Log in with the agent's own command. It offers: {names or 'nothing'}.",
        )
    said = "it did not answer in time" if isinstance(error, TimeoutError) else explained(error)
    why = opener.why()
    words = f"the agent cannot be used: {said}" + (f" ({why})" if why else "")
    # A child's pipe that closes is the child's end, also when its exit code is not known yet.
    ended = isinstance(error, TransportError) and isinstance(opener, ChildAgent)
    return AgentEnded(words) if ended else ConnectionLost(words)
