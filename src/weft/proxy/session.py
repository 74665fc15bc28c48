"""A proxy for one child: `async with` it, start the child with its `env`, and nothing is left when it ends."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from weft.proxy.calls import CallLog
from weft.proxy.nonces import Grant
from weft.proxy.policy import Policy
from weft.proxy.server import Proxy, ProxyOptions
from weft.proxy.tracing import open_spans
from weft.proxy.upstream import Dialect, Upstream, find_upstreams
from weft.schema.content import Json


class ProxySession:
    """One proxy, one nonce. `env(base)` is `base` with the nonce where the credentials were."""

    def __init__(
        self,
        who: str,
        upstreams: Sequence[Upstream],
        *,
        policy: Policy | None = None,
        options: ProxyOptions | None = None,
        environ: Mapping[str, str],
        dialects: Sequence[Dialect] = ("anthropic", "openai"),
        log: bool = True,
    ) -> None:
        self._who = who
        self._policy = policy
        self._upstreams = tuple(upstreams)
        self._options = options
        self._environ = environ
        self._dialects = tuple(dialects)
        self._log = CallLog() if log else None
        self._proxy: Proxy | None = None
        self._grant: Grant | None = None

    @property
    def proxy(self) -> Proxy:
        assert self._proxy is not None, "enter the session first"
        return self._proxy

    @property
    def grant(self) -> Grant:
        assert self._grant is not None, "enter the session first"
        return self._grant

    async def __aenter__(self) -> Self:
        for one in self._upstreams:
            # Read once before the child starts, so that its variables can be searched for it.
            await one.credential.key()
        spans = open_spans(self._environ)
        proxy = Proxy(self._upstreams, self._options, log=self._log, spans=spans, env=self._environ)
        self._proxy = await proxy.__aenter__()
        self._grant = proxy.issue(self._who, self._policy)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        proxy, self._proxy = self._proxy, None
        if proxy is None:
            return None
        if self._grant is not None:
            proxy.revoke(self._grant)
        return await proxy.__aexit__(kind, error, trace)

    def env(self, base: Mapping[str, str]) -> dict[str, str]:
        return self.proxy.environment(self.grant, base, self._dialects)


def session(
    who: str, environ: Mapping[str, str], settings: Json | None = None, *, dialects: Sequence[Dialect] = ()
) -> ProxySession | None:
    """For an agent that knows the variables of `dialects`. None where there is no credential for any of them: the
    agent then uses its own login. `WEFT_PROXY=off` switches it off."""
    if environ.get("WEFT_PROXY", "").lower() in ("0", "off", "no", "false"):
        return None
    found = find_upstreams(environ, settings)
    spoken: list[Dialect] = [one.dialect for one in found]
    if not set(spoken) & set(dialects):
        return None
    # All of them, so that programs which the agent runs work on as before.
    return ProxySession(who, found, environ=environ, dialects=spoken)
