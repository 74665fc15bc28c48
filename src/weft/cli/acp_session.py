"""What an ACP client asks for becomes a session of ours: the composition behind `weft acp`."""

from weft.agent.options import ALL_ASKS, SessionOptions
from weft.connect.port import Connection
from weft.permissions.modes import to_mode
from weft.serve.acp.request import OpenSession, SessionRequest
from weft.sessions.port import SessionStore


def session_store() -> SessionStore:
    from weft.paths import claude_home, weft_home
    from weft.sessions.store import FileStore

    return FileStore(weft_home(), foreign=claude_home())


def opener(*, model: str | None = None, mode: str | None = None) -> OpenSession:
    """`model` and `mode` are for clients that choose none."""
    default_mode = to_mode(mode) if mode else None

    async def open_session(request: SessionRequest) -> Connection:
        from weft.sdk.compose import Overrides, connect

        options = to_options(request)
        changed: dict[str, object] = {}
        if options.model is None and model:
            changed["model"] = model
        if options.mode is None and default_mode:
            changed["mode"] = default_mode
        if changed:
            import msgspec

            options = msgspec.structs.replace(options, **changed)
        return connect(options, Overrides(wrap_workspace=request.wrap))

    return open_session


def to_options(request: SessionRequest) -> SessionOptions:
    """The client shows questions, so all of them may be asked. The mode is the client's to choose, all of them too:
    it is the person's own program. The folder is not trusted for that: its hooks and servers wait for `weft trust`."""
    forked = request.fork_of is not None
    return SessionOptions(
        cwd=request.cwd,
        directories=request.directories,
        session_id=None if request.resume else request.session_id,
        resume=request.fork_of or (request.session_id if request.resume else None),
        fork=forked,
        model=request.model,
        mode=request.mode,
        asks=ALL_ASKS,
        allowed_tools=request.allowed_tools,
        disallowed_tools=request.disallowed_tools,
        allow_bypass=True,
        max_turns=request.max_turns,
        system_prompt=request.system_prompt,
        append_system_prompt=request.append_system_prompt,
        agents=dict(request.agents) or None,
        mcp_servers=dict(request.mcp_servers) or None,
        hooks=request.hooks,
        env=_login(request),
        client="acp",
    )


def _login(request: SessionRequest) -> dict[str, str] | None:
    """A key and an address that the client brought, as iFlow's do: an endpoint that speaks OpenAI's chat."""
    env: dict[str, str] = {}
    if request.api_key:
        env["OPENAI_API_KEY"] = request.api_key
    if request.base_url:
        env["OPENAI_BASE_URL"] = request.base_url
    return env or None
