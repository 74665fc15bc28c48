"""Where the real key comes from: the environment, a file, the system keyring, a command, or OAuth tokens.

All of them can change while the proxy runs. `key` is asked for every call; `renew` after the server refused one.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol, cast

import anyio
import anyio.to_thread

from weft.errors import ProviderError, TransportError, UsageError

_HELPER_TTL: Final = 300.0
_KEYRING_TTL: Final = 60.0
FORMS: Final = "env:NAME, file:PATH, keyring:SERVICE/USER, helper:COMMAND, oauth:PATH or none"


class Credential(Protocol):
    """`bearer` says how it is sent to an Anthropic server. `secrets` are all values that must not leave."""

    bearer: bool
    source: str

    async def key(self) -> str | None:
        """
        Raises:
            ProviderError: there is none, and the message says why without saying what.
        """
        ...

    async def renew(self, refused: str) -> bool:
        """`refused` was not taken. True when `key` has another now."""
        ...

    def secrets(self) -> tuple[str, ...]: ...


class NoKey:
    """For servers that want none, such as those on this machine."""

    bearer = False
    source = "none"

    async def key(self) -> str | None:
        return None

    async def renew(self, refused: str) -> bool:
        return False

    def secrets(self) -> tuple[str, ...]:
        return ()


class _Kept:
    """A key that is read anew after `ttl` seconds or when it was refused. Old ones stay secret."""

    bearer = False

    def __init__(self, source: str, ttl: float) -> None:
        self.source = source
        self._ttl = ttl
        self._value = ""
        self._until = 0.0
        self._seen: dict[str, None] = {}
        self._lock = anyio.Lock()

    async def _read(self) -> str:
        raise NotImplementedError

    async def key(self) -> str | None:
        if self._value and time.monotonic() < self._until:
            return self._value
        async with self._lock:
            if not self._value or time.monotonic() >= self._until:
                await self._load()
        return self._value

    async def renew(self, refused: str) -> bool:
        async with self._lock:
            if self._value == refused:
                await self._load()
        return self._value != refused

    def secrets(self) -> tuple[str, ...]:
        return tuple(self._seen)

    async def _load(self) -> None:
        value = (await self._read()).strip()
        if not value or "\n" in value or "\r" in value:
            raise ProviderError(f"{self.source} gave no key", kind="authentication_failed")
        self._value = value
        self._seen[value] = None
        self._until = time.monotonic() + self._ttl


class EnvKey(_Kept):
    def __init__(self, name: str, env: Mapping[str, str], *, bearer: bool = False) -> None:
        super().__init__(name, 0.0)
        self._name = name
        self._env = env
        self.bearer = bearer

    async def _read(self) -> str:
        return self._env.get(self._name, "")


class FileKey(_Kept):
    """A file that holds the key and nothing else; read for each call, so a new one counts at once."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), 0.0)
        self._path = path

    async def _read(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeError):
            raise ProviderError(f"{self._path} cannot be read", kind="authentication_failed") from None


class HelperKey(_Kept):
    """A command that prints the key."""

    def __init__(self, command: str, *, ttl: float = _HELPER_TTL) -> None:
        super().__init__("the key helper", ttl)
        self._command = command

    async def _read(self) -> str:
        from weft.transports.command import output_of

        try:
            return await output_of(self._command)
        except TransportError as error:
            # What it printed may hold the key, so it goes nowhere.
            words = f"the key helper failed ({type(error).__name__})"
            raise ProviderError(words, kind="authentication_failed", hint="Run it in a shell to see why.") from None


class _KeyringErrors(Protocol):
    KeyringError: type[Exception]


class _Keyring(Protocol):
    errors: _KeyringErrors

    def get_password(self, service_name: str, username: str, /) -> str | None: ...


class KeyringKey(_Kept):
    """The system keyring, by the `keyring` package."""

    def __init__(self, service: str, user: str) -> None:
        super().__init__("the keyring", _KEYRING_TTL)
        self._service = service
        self._user = user

    async def _read(self) -> str:
        from importlib import import_module

        try:
            import_module("keyring.errors")
            ring = cast(_Keyring, import_module("keyring"))
        except ImportError:
            raise ProviderError(
                "the keyring package is not there",
                kind="authentication_failed",
                hint="pip install 'weft[keyring]'",
            ) from None
        try:
            found = await anyio.to_thread.run_sync(ring.get_password, self._service, self._user)
        except (ring.errors.KeyringError, OSError, RuntimeError) as error:
            words = f"the keyring failed ({type(error).__name__})"
            raise ProviderError(words, kind="authentication_failed") from None
        return found or ""


def read_credential(text: str, env: Mapping[str, str]) -> Credential:
    """`env:NAME` and the like. A key itself is not taken: it would stand in the process list.

    Raises:
        UsageError: it has no such form.
    """
    kind, colon, rest = text.partition(":")
    if text == "none":
        return NoKey()
    if colon and rest:
        match kind:
            case "env":
                return EnvKey(rest, env)
            case "file":
                return FileKey(Path(rest).expanduser())
            case "helper":
                return HelperKey(rest)
            case "oauth":
                from weft.proxy.oauth import OAuthFile

                return OAuthFile(Path(rest).expanduser(), env=env)
            case "keyring":
                service, _, user = rest.partition("/")
                return KeyringKey(service, user or env.get("USER", ""))
            case _:
                pass
    raise UsageError(f"a credential is one of {FORMS}", hint="weft proxy --credential env:MY_KEY")
