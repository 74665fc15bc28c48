"""The variables of a child that asks through the proxy: the nonce where the key was, and nothing of the key."""

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Final

from weft.proxy.upstream import Dialect

_CREDENTIALS: Final = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
)
_LOOPBACK: Final = "127.0.0.1,localhost"


def child_environment(
    base: Mapping[str, str],
    url: str,
    nonce: str,
    *,
    secrets: Iterable[str] = (),
    dialects: Iterable[Dialect] = ("anthropic", "openai"),
    ripgrep: str | None = None,
) -> dict[str, str]:
    """The variables of `dialects` point to the proxy, which translates. Any variable that holds one of
    `secrets` is left out, also where a person named it. `ripgrep` is what Claude Code shall use instead of its own."""
    hidden = tuple(secret for secret in secrets if len(secret) >= 6)
    env = {
        name: value
        for name, value in base.items()
        if name not in _CREDENTIALS and not any(secret in value for secret in hidden)
    }
    if "anthropic" in dialects:
        env |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": nonce}
    if "openai" in dialects:
        env |= {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": nonce}
    env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
    for name in ("NO_PROXY", "no_proxy"):
        # A proxy of the company must not be asked for this machine.
        env[name] = f"{env[name]},{_LOOPBACK}" if env.get(name) else _LOOPBACK
    rg = ripgrep or shutil.which("rg", path=base.get("PATH"))
    if rg:
        env["USE_BUILTIN_RIPGREP"] = "0"
        folder = os.path.dirname(rg)
        if folder not in env.get("PATH", "").split(os.pathsep):
            env["PATH"] = os.pathsep.join(part for part in (folder, env.get("PATH", "")) if part)
    return env
