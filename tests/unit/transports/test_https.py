"""TLS, with certificates of our own: trusted, not trusted, for another name, and through a proxy's tunnel."""

import datetime
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import pytest
from anyio.streams.tls import TLSListener
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from weft.errors import TransportError
from weft.transports.http import HttpClient

NAME = "model.example"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate of `NAME`, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "certificate.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return path


@asynccontextmanager
async def tls_server(certificate: Path) -> AsyncIterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    inner = await anyio.create_tcp_listener(local_host="127.0.0.1")
    listener = TLSListener(inner, ssl_context=context, standard_compatible=False)

    async def serve(stream: anyio.abc.AnyByteStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(ANSWER)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, serve)
            yield inner.extra(anyio.abc.SocketAttribute.local_port)
            tasks.cancel_scope.cancel()
    await listener.aclose()


@asynccontextmanager
async def proxy_to(port: int, seen: list[bytes]) -> AsyncIterator[str]:
    """A proxy whose every tunnel ends at `port`."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")

    async def pump(source: anyio.abc.ByteReceiveStream, sink: anyio.abc.ByteSendStream) -> None:
        try:
            async for data in source:
                await sink.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream, await anyio.connect_tcp("127.0.0.1", port) as far:
            seen.append(await stream.receive())
            await stream.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            async with anyio.create_task_group() as pumps:
                pumps.start_soon(pump, far, stream)
                await pump(stream, far)
                pumps.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield f"http://user:word@127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        tasks.cancel_scope.cancel()
    await listener.aclose()


async def test_a_trusted_server_is_reached_through_a_tunnel(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    seen: list[bytes] = []
    async with tls_server(certificate) as port, proxy_to(port, seen) as proxy:
        async with HttpClient(env={"HTTPS_PROXY": proxy}) as client:
            async with await client.send("GET", f"https://{NAME}/v1", {"x-api-key": "k"}) as response:
                assert await response.read() == b"secret"
    assert seen[0].startswith(b"CONNECT model.example:443 HTTP/1.1\r\n")
    assert b"proxy-authorization: Basic dXNlcjp3b3Jk" in seen[0] and b"x-api-key" not in seen[0]


async def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path) -> None:
    seen: list[bytes] = []
    async with tls_server(certificate) as port, proxy_to(port, seen) as proxy:
        async with HttpClient(env={"HTTPS_PROXY": proxy}) as client:
            with pytest.raises(TransportError, match="self-signed"):
                await client.send("GET", f"https://{NAME}/")


async def test_a_certificate_for_another_name_is_refused(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with tls_server(certificate) as port, HttpClient() as client:
        with pytest.raises(TransportError, match="certificate is not valid for"):
            await client.send("GET", f"https://127.0.0.1:{port}/")
