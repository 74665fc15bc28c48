"""Where logins are kept: the system's keyring, or a file that only the person can read.

A login belongs to one server and one issuer. Another issuer is another slot: credentials of one authorization
server are never shown to another. The time at which a token ends is kept as a date, not as a duration.
"""

import hashlib
import json
import os
import time
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import ValidationError

from weft.mcp.catalogue import table_of
from weft.mcp.config import ServerConfig
from weft.mcp.trust import read_json, write_private
from weft.schema.content import Json

SERVICE = "weft-mcp"


class Vault(Protocol):
    """Text by name."""

    def get(self, name: str) -> str | None: ...

    def set(self, name: str, value: str) -> None: ...

    def delete(self, name: str) -> None: ...


class FileVault:
    """One 0600 file for all."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, name: str) -> str | None:
        value = read_json(self._path).get(name)
        return value if isinstance(value, str) else None

    def set(self, name: str, value: str) -> None:
        write_private(self._path, json.dumps({**read_json(self._path), name: value}))

    def delete(self, name: str) -> None:
        kept = read_json(self._path)
        if kept.pop(name, None) is not None:
            write_private(self._path, json.dumps(kept))


class _Backend(Protocol):
    """The part of a keyring that we use."""

    def get_password(self, service: str, name: str) -> str | None: ...

    def set_password(self, service: str, name: str, value: str) -> None: ...

    def delete_password(self, service: str, name: str) -> None: ...


class KeyringVault:
    def __init__(self, backend: _Backend) -> None:
        self._backend = backend

    def get(self, name: str) -> str | None:
        return self._backend.get_password(SERVICE, name)

    def set(self, name: str, value: str) -> None:
        self._backend.set_password(SERVICE, name, value)

    def delete(self, name: str) -> None:
        if self.get(name) is not None:
            self._backend.delete_password(SERVICE, name)


def open_vault(home: Path) -> Vault:
    """The keyring when one is installed and works, else the file. `WEFT_MCP_VAULT=file` asks for the file."""
    file = FileVault(home / "mcp-logins.json")
    if os.environ.get("WEFT_MCP_VAULT") == "file":
        return file
    try:
        keyring = import_module("keyring")
    except ImportError:
        return file
    backend = keyring.get_keyring()
    if type(backend).__module__ in ("keyring.backends.fail", "keyring.backends.null"):
        return file
    return KeyringVault(backend)


class Logins:
    """One server's login, in the shape that the package's providers want (`TokenStorage`)."""

    def __init__(self, vault: Vault, config: ServerConfig) -> None:
        self._vault = vault
        self._name = hashlib.sha256(f"{config.name}\0{config.url}".encode()).hexdigest()[:32]
        self._config = config

    def _load(self) -> Json:
        try:
            value = json.loads(self._vault.get(self._name) or "{}")
        except ValueError:
            return {}
        return cast("Json", value) if isinstance(value, dict) else {}

    def _slot(self) -> tuple[Json, str, Json]:
        whole = self._load()
        issuer = str(whole.get("issuer") or "")
        return whole, issuer, table_of(table_of(whole.get("issuers")).get(issuer))

    def _save(self, whole: Json, issuer: str, slot: Json) -> None:
        issuers = {**table_of(whole.get("issuers")), issuer: slot}
        kept = {**whole, "server": self._config.url, "issuer": issuer, "issuers": issuers}
        self._vault.set(self._name, json.dumps(kept))

    async def get_tokens(self) -> OAuthToken | None:
        raw = self._slot()[2].get("tokens")
        try:
            return OAuthToken.model_validate(raw) if raw else None
        except ValidationError:
            return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        whole, issuer, slot = self._slot()
        expires = time.time() + tokens.expires_in if tokens.expires_in else None
        slot = {**slot, "tokens": tokens.model_dump(mode="json", exclude_none=True), "expires_at": expires}
        self._save(whole, issuer, slot)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        settings = self._config.oauth
        if settings.client_id:
            method = settings.auth_method or ("client_secret_basic" if settings.client_secret else "none")
            return OAuthClientInformationFull(
                client_id=settings.client_id,
                client_secret=settings.client_secret or None,
                token_endpoint_auth_method=method,
                issuer=settings.issuer or None,
            )
        raw = self._slot()[2].get("client")
        try:
            return OAuthClientInformationFull.model_validate(raw) if raw else None
        except ValidationError:
            return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        whole, _, _ = self._slot()
        issuer = client_info.issuer or ""
        slot = table_of(table_of(whole.get("issuers")).get(issuer))
        self._save(whole, issuer, {**slot, "client": client_info.model_dump(mode="json", exclude_none=True)})

    def expires_at(self) -> float | None:
        value = self._slot()[2].get("expires_at")
        return value if isinstance(value, float | int) else None

    def extra(self, name: str) -> str:
        """A small thing that belongs to the login: the callback's port, the proof key."""
        value = self._load().get(name)
        return value if isinstance(value, str) else ""

    def set_extra(self, name: str, value: str) -> None:
        self._vault.set(self._name, json.dumps({**self._load(), name: value}))

    def forget(self) -> None:
        self._vault.delete(self._name)
