"""Logging in to servers: the package's OAuth providers, with what they leave out.

Added here: no login without PKCE, only https (or loopback) addresses for people, kept expiry, proof of possession,
the JWT-bearer grant, a limit on logins, a loopback callback and pasting the address by hand.
"""

import json
import warnings
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    ProtectedResourceMetadata,
)
from mcp.shared.exceptions import MCPDeprecationWarning
from pydantic import AnyUrl, ValidationError

from weft import __version__
from weft.errors import TransportError
from weft.mcp.asking import address_warnings, web_address
from weft.mcp.config import OAuthSettings, ServerConfig
from weft.mcp.dpop import ProofKey
from weft.mcp.failures import NeedsLogin
from weft.mcp.tokens import Logins, open_vault
from weft.mcp.visible import visible
from weft.schema.content import Json

if TYPE_CHECKING:
    from weft.mcp.link import Link
    from weft.mcp.server import Server

MAX_LOGINS = 3
"""How often one connection may send the person to a login: a server that always wants more is stopped."""
LOGIN_LIMIT = 300.0
LOGIN_VISIT = "login"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class Guarded(OAuthClientProvider):
    """What all our providers share: it watches every request that a flow makes, and every answer."""

    logins: Logins
    settings: OAuthSettings
    rounds = 0
    proof_key: ProofKey | None = None
    told_metadata: bytes | None = None
    """The authorization server's metadata from the address that the person configured, instead of discovery."""

    def guard(self, logins: Logins, settings: OAuthSettings) -> None:
        self.logins = logins
        self.settings = settings
        if settings.dpop or logins.extra("dpop"):
            self._use_proofs()

    def _use_proofs(self) -> None:
        if self.proof_key is None:
            kept = self.logins.extra("dpop")
            self.proof_key = ProofKey(kept)
            if not kept:
                self.logins.set_extra("dpop", self.proof_key.pem)

    async def _initialize(self) -> None:
        await super()._initialize()
        if self.context.current_tokens is not None:
            self.context.token_expiry_time = self.logins.expires_at()
            self._recall()

    def _recall(self) -> None:
        """Where this login came from. Without that a refresh would go to the resource's own origin, which is not
        the one that the refresh token belongs to: then the login is over when its token is."""
        try:
            self.context.oauth_metadata = OAuthMetadata.model_validate_json(self.logins.extra("metadata"))
            kept = self.logins.extra("resource")
            if kept:
                self.context.protected_resource_metadata = ProtectedResourceMetadata.model_validate_json(kept)
        except ValidationError:
            tokens = self.context.current_tokens
            if tokens is not None:
                tokens.refresh_token = None

    def _remember(self) -> None:
        if self.context.oauth_metadata is not None:
            self.logins.set_extra("metadata", self.context.oauth_metadata.model_dump_json(exclude_none=True))
        if self.context.protected_resource_metadata is not None:
            kept = self.context.protected_resource_metadata.model_dump_json(exclude_none=True)
            self.logins.set_extra("resource", kept)

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await super()._handle_token_response(response)
        self._remember()

    async def _perform_authorization(self) -> httpx2.Request:
        self.rounds += 1
        if self.rounds > MAX_LOGINS:
            raise OAuthFlowError("the server keeps asking for another login; stopped")
        if self.settings.scopes:
            self.context.client_metadata.scope = self.settings.scopes
        return await super()._perform_authorization()

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        metadata = self.context.oauth_metadata
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise OAuthFlowError("the authorization server does not support PKCE with S256; refused")
        return await super()._perform_authorization_code_grant()

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if self.settings.metadata_url and self.told_metadata is None:
            told = yield httpx2.Request("GET", self.settings.metadata_url)
            self.told_metadata = await told.aread() if told.status_code == 200 else b"{}"
        flow = super()._auth_flow(request)
        try:
            outgoing = await flow.__anext__()
            while True:
                ours = outgoing is request
                if not ours and self.told_metadata is not None and _is_discovery(outgoing):
                    outgoing = await flow.asend(httpx2.Response(200, content=self.told_metadata, request=outgoing))
                    continue
                self._prove(outgoing, ours=ours)
                response = yield outgoing
                if await self._wants_proof(response, ours=ours):
                    self._prove(outgoing, ours=ours)
                    response = yield outgoing
                if not ours and _is_token_request(outgoing):
                    response = await _as_bearer(response)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    def _expected_issuer(self) -> str:
        """Whoever configures the metadata's address vouches for the issuer that stands there."""
        if self.told_metadata is not None:
            try:
                return str(OAuthMetadata.model_validate_json(self.told_metadata).issuer)
            except ValidationError:
                raise OAuthFlowError(f"there is no metadata at {self.settings.metadata_url}") from None
        return super()._expected_issuer()

    def _prove(self, request: httpx2.Request, *, ours: bool) -> None:
        key = self.proof_key
        if key is None:
            return
        url, origin = str(request.url.copy_with(query=None, fragment=None)), _origin(request.url)
        if not ours:
            if _is_token_request(request):
                request.headers["DPoP"] = key.proof(request.method, url, origin, None)
            return
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if kind in ("Bearer", "DPoP") and token:
            request.headers["Authorization"] = f"DPoP {token}"
            request.headers["DPoP"] = key.proof(request.method, url, origin, token)

    async def _wants_proof(self, response: httpx2.Response, *, ours: bool) -> bool:
        """Whether the same request must be made again with the nonce that came. Learns of proofs on the way."""
        challenge = response.headers.get("WWW-Authenticate", "")
        if ours and response.status_code == 401 and challenge.lower().startswith("dpop"):
            self._use_proofs()
        nonce = response.headers.get("DPoP-Nonce")
        if self.proof_key is None or not nonce:
            return False
        self.proof_key.remember(_origin(response.request.url), nonce)
        if ours:
            return response.status_code == 401 and "use_dpop_nonce" in challenge
        if response.status_code != 400:
            return False
        return b"use_dpop_nonce" in await response.aread()


def _origin(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode()}"


def _is_discovery(request: httpx2.Request) -> bool:
    path = request.url.path
    return "/.well-known/oauth-authorization-server" in path or "/.well-known/openid-configuration" in path


def _is_token_request(request: httpx2.Request) -> bool:
    kind = request.headers.get("Content-Type", "")
    return request.method == "POST" and kind.startswith("application/x-www-form-urlencoded")


async def _as_bearer(response: httpx2.Response) -> httpx2.Response:
    """A token answer of type DPoP, in the only type that the package reads."""
    if response.status_code not in (200, 201):
        return response
    try:
        body: object = json.loads(await response.aread())
    except ValueError:
        return response
    if not isinstance(body, dict) or str(cast("Json", body).get("token_type", "")).lower() != "dpop":
        return response
    changed = {**cast("Json", body), "token_type": "Bearer"}
    return httpx2.Response(response.status_code, json=changed, request=response.request)


class CodeLogin(Guarded):
    """The authorization-code flow, with the person."""


class SecretLogin(Guarded, ClientCredentialsOAuthProvider):
    """Client credentials with a secret: no person."""


class KeyLogin(Guarded, PrivateKeyJWTOAuthProvider):
    """Client credentials with a signed assertion: no person."""


class WorkloadLogin(Guarded):
    """Workload identity: a JWT that the platform gave us is the grant. A refusal is final."""

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.client_info = OAuthClientInformationFull(
            client_id=self.settings.client_id, token_endpoint_auth_method="none", grant_types=[JWT_BEARER]
        )

    async def _perform_authorization(self) -> httpx2.Request:
        self.rounds += 1
        if self.rounds > 1:
            raise OAuthFlowError("the authorization server refused the workload's token")
        assertion = self.settings.assertion
        if not assertion:
            assertion = await _read_assertion(self.settings.assertion_file)
        data = {"grant_type": JWT_BEARER, "assertion": assertion, "client_id": self.settings.client_id}
        if self.context.should_include_resource_param(self.context.protocol_version):
            data["resource"] = self.context.get_resource_url()
        scope = self.settings.scopes or self.context.client_metadata.scope
        if scope:
            data["scope"] = scope
        return httpx2.Request("POST", self._get_token_endpoint(), data=data)


async def _read_assertion(path: str) -> str:
    return (await (await anyio.Path(path).expanduser()).read_text()).strip()


class Person:
    """The person's part of a login: they see where they are sent, and come back by the callback or by pasting."""

    def __init__(self, server: "Server", link: "Link", port: int) -> None:
        self._server = server
        self._link = link
        self._port = port
        self._url = ""

    async def redirect(self, url: str) -> None:
        if not self._server.interactive_login or self._server.options.ask_input is None:
            self._link.wants_login = True
            raise NeedsLogin("a login is needed")
        self._url = url

    async def come_back(self) -> AuthorizationCodeResult:
        from weft.transports.mcp_callback import CallbackServer

        found: list[dict[str, str]] = []
        async with self._server.login_lock, CallbackServer(port=self._port) as callback:
            with anyio.fail_after(LOGIN_LIMIT):
                async with anyio.create_task_group() as group:

                    async def by_callback() -> None:
                        found.append(await callback.wait())
                        self._server.options.on_visited(self._server.config.name, LOGIN_VISIT)
                        group.cancel_scope.cancel()

                    async def by_hand() -> None:
                        pasted = await self._ask()
                        if pasted is not None:
                            found.append(pasted)
                            group.cancel_scope.cancel()

                    group.start_soon(by_callback)
                    group.start_soon(by_hand)
        params = found[0]
        if "error" in params:
            raise OAuthFlowError(f"the login failed: {visible(params.get('error_description') or params['error'])}")
        return AuthorizationCodeResult(code=params.get("code", ""), state=params.get("state"), iss=params.get("iss"))

    async def _ask(self) -> dict[str, str] | None:
        """What the pasted address says; None when the person went to the page and the callback will come."""
        ask = self._server.options.ask_input
        parts = web_address(self._url)
        if ask is None or parts is None:
            raise OAuthFlowError("the server sends people to an address that is not https; refused")
        query = parse_qs(parts.query)
        scopes = visible(" ".join(query.get("scope", [])) or "none named")
        lines = [
            f"The server {self._server.config.name!r} ({visible(self._server.config.url)}) asks you to log in.",
            f"Site: {visible(parts.hostname or '')}",
            f"Rights it asks for: {scopes}",
            *(f"Warning: {text}" for text in address_warnings(parts)),
            "If your browser is on another machine, paste the address that it ends at.",
        ]
        schema: Json = {"type": "object", "properties": {"redirect_url": {"type": "string", "title": "Address"}}}
        with self._server.pause():
            answer = await ask(
                self._server.config.name, "\n".join(lines), schema=schema, url=self._url, visit=LOGIN_VISIT
            )
        if answer.action != "accept":
            raise OAuthFlowError("the login was declined")
        pasted = (answer.content or {}).get("redirect_url")
        if not isinstance(pasted, str) or not pasted:
            return None
        return {name: values[0] for name, values in parse_qs(urlsplit(pasted.strip()).query).items()}


def make_auth(config: ServerConfig, server: "Server", link: "Link") -> httpx2.Auth | None:
    """The login of one server; None when its entry brings an Authorization header of its own."""
    if any(name.lower() == "authorization" for name in config.headers):
        return None
    logins = Logins(open_vault(server.options.home), config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        provider = _provider(config, server, link, logins)
    if isinstance(provider, Guarded):
        provider.guard(logins, config.oauth)
    return provider


def _provider(config: ServerConfig, server: "Server", link: "Link", logins: Logins) -> httpx2.Auth:
    settings = config.oauth
    method = settings.auth_method if settings.auth_method in ("client_secret_basic", "client_secret_post") else None
    match settings.grant:
        case "client_credentials":
            return SecretLogin(
                server_url=config.url,
                storage=logins,
                client_id=settings.client_id,
                client_secret=settings.client_secret,
                token_endpoint_auth_method=method or "client_secret_basic",
                scope=settings.scopes or None,
                issuer=settings.issuer or None,
            )
        case "private_key_jwt":
            signed = SignedJWTParameters(
                issuer=settings.client_id,
                subject=settings.client_id,
                signing_key=settings.private_key,
                signing_algorithm=settings.algorithm,
            )
            return KeyLogin(
                server_url=config.url,
                storage=logins,
                client_id=settings.client_id,
                assertion_provider=signed.create_assertion_provider(),
                issuer=settings.issuer or None,
            )
        case "jwt_bearer":
            metadata = OAuthClientMetadata(redirect_uris=None, grant_types=[JWT_BEARER])
            return WorkloadLogin(config.url, metadata, logins)
        case "id_jag":
            return IdentityAssertionOAuthProvider(
                server_url=config.url,
                storage=logins,
                client_id=settings.client_id,
                client_secret=settings.client_secret,
                issuer=settings.issuer,
                assertion_provider=_identity_assertion(config),
                token_endpoint_auth_method=method or "client_secret_basic",
            )
        case "code":
            return _code_login(config, server, link, logins)


def _code_login(config: ServerConfig, server: "Server", link: "Link", logins: Logins) -> Guarded:
    from weft.transports.mcp_callback import free_port

    kept = logins.extra("port")
    port = config.oauth.callback_port or (int(kept) if kept.isdigit() else 0)
    if not port:
        port = free_port()
        if server.interactive_login:
            logins.set_extra("port", str(port))
    person = Person(server, link, port)
    metadata = OAuthClientMetadata(
        client_name="Weft",
        redirect_uris=[AnyUrl(f"http://127.0.0.1:{port}/callback")],
        software_id="weft",
        software_version=__version__,
    )
    return CodeLogin(
        config.url,
        metadata,
        logins,
        redirect_handler=person.redirect,
        callback_handler=person.come_back,
        client_metadata_url=config.oauth.client_metadata_url or None,
    )


def _identity_assertion(config: ServerConfig) -> Any:
    """Exchanges the identity token for an assertion at the identity provider (RFC 8693)."""
    settings = config.oauth

    async def exchange(audience: str, resource: str) -> str:
        from weft.transports.mcp_http import make_client

        token = settings.assertion
        if not token:
            token = await _read_assertion(settings.assertion_file)
        kind = "urn:ietf:params:oauth:token-type:"
        form = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": f"{kind}id-jag",
            "subject_token": token,
            "subject_token_type": f"{kind}id_token",
            "audience": audience,
            "resource": resource,
            "client_id": settings.idp_client_id,
        }
        async with make_client(settings.idp_token_endpoint, headers={}) as client:
            response = await client.post(settings.idp_token_endpoint, data=form)
        if response.status_code != 200:
            raise TransportError(f"the identity provider answered {response.status_code}")
        return str(cast("Json", response.json())["access_token"])

    return exchange
