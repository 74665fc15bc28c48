"""OAuth tokens in a file: used while they live, refreshed before they end or when refused, written back at once."""

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import anyio
import msgspec

from weft.errors import ProviderError, TransportError
from weft.transports.http import HttpClient, HttpLimits

_EARLY: Final = 60.0
"""Seconds before its end that a token is refreshed."""


class _Tokens(msgspec.Struct, kw_only=True):
    """The file. `expires_at` is a Unix time; 0 means that it is not known."""

    access_token: str
    refresh_token: str = ""
    expires_at: float = 0.0
    token_endpoint: str = ""
    client_id: str = ""
    client_secret: str = ""
    scope: str = ""


class _Answer(msgspec.Struct):
    access_token: str
    refresh_token: str = ""
    expires_in: float | None = None


class OAuthFile:
    """Implements `Credential`. The file is read again whenever it changed: another program may have refreshed it."""

    bearer = True

    def __init__(self, path: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.source = f"the tokens in {path}"
        self._path = path
        self._env = env
        self._lock = anyio.Lock()
        self._seen: dict[str, None] = {}

    async def key(self) -> str | None:
        tokens = self._load()
        if tokens.expires_at and tokens.expires_at - _EARLY < time.time() and tokens.refresh_token:
            async with self._lock:
                tokens = self._load()
                if tokens.expires_at - _EARLY < time.time():
                    tokens = await self._refresh(tokens)
        return tokens.access_token

    async def renew(self, refused: str) -> bool:
        async with self._lock:
            tokens = self._load()
            if tokens.access_token == refused and tokens.refresh_token:
                tokens = await self._refresh(tokens)
        return tokens.access_token != refused

    def secrets(self) -> tuple[str, ...]:
        return tuple(self._seen)

    def _load(self) -> _Tokens:
        try:
            tokens = msgspec.json.decode(self._path.read_bytes(), type=_Tokens)
        except (OSError, msgspec.DecodeError, UnicodeError):
            raise ProviderError(
                f"{self._path} has no tokens that can be read",
                kind="authentication_failed",
                hint="It is JSON with access_token, refresh_token, expires_at, token_endpoint and client_id.",
            ) from None
        for secret in (tokens.access_token, tokens.refresh_token, tokens.client_secret):
            if secret:
                self._seen[secret] = None
        return tokens

    async def _refresh(self, tokens: _Tokens) -> _Tokens:
        if not tokens.token_endpoint.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
            raise ProviderError(f"{self._path} names no token endpoint with https", kind="authentication_failed")
        form = {
            "grant_type": "refresh_token",
            "refresh_token": tokens.refresh_token,
            "client_id": tokens.client_id,
            "client_secret": tokens.client_secret,
            "scope": tokens.scope,
        }
        body = urlencode({name: value for name, value in form.items() if value}).encode()
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        limits = HttpLimits(connect=10, send=10, first_byte=30, idle=10)
        try:
            async with (
                HttpClient(limits=limits, env=self._env) as http,
                await http.send("POST", tokens.token_endpoint, headers, body) as response,
            ):
                status, data = response.status, await response.read(65536)
            answer = msgspec.json.decode(data, type=_Answer) if status == 200 else None
        except (TransportError, msgspec.DecodeError, UnicodeError) as error:
            words = f"the tokens could not be refreshed ({type(error).__name__})"
            raise ProviderError(words, kind="authentication_failed") from None
        if answer is None or not answer.access_token:
            words = f"the tokens could not be refreshed: the server answered {status}"
            raise ProviderError(words, kind="authentication_failed", hint="Log in again.")
        fresh = msgspec.structs.replace(
            tokens,
            access_token=answer.access_token,
            refresh_token=answer.refresh_token or tokens.refresh_token,
            expires_at=time.time() + answer.expires_in if answer.expires_in else 0.0,
        )
        self._write(fresh)
        return self._load()

    def _write(self, tokens: _Tokens) -> None:
        """Whole or not at all, and for the owner alone."""
        fd, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(msgspec.json.encode(tokens) + b"\n")
            os.replace(name, self._path)
        except OSError as error:
            os.unlink(name)
            raise ProviderError(f"{self._path} cannot be written", kind="authentication_failed") from error
