"""Proof of possession (RFC 9449): a key of our own, and a fresh signed proof for each request."""

import base64
import hashlib
import time
import uuid

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from weft.schema.content import Json


def _number(value: int) -> str:
    return base64.urlsafe_b64encode(value.to_bytes(32, "big")).rstrip(b"=").decode()


class ProofKey:
    """A P-256 key. `pem` keeps it, as part of the login that it is bound to."""

    def __init__(self, pem: str = "") -> None:
        if pem:
            key = serialization.load_pem_private_key(pem.encode(), None)
            if not isinstance(key, ec.EllipticCurvePrivateKey):
                raise ValueError("not an elliptic-curve key")
            self._key = key
        else:
            self._key = ec.generate_private_key(ec.SECP256R1())
        self._nonces: dict[str, str] = {}

    @property
    def pem(self) -> str:
        return self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()

    @property
    def jwk(self) -> Json:
        numbers = self._key.public_key().public_numbers()
        return {"kty": "EC", "crv": "P-256", "x": _number(numbers.x), "y": _number(numbers.y)}

    def remember(self, origin: str, nonce: str) -> None:
        """The server's latest nonce; each origin has its own."""
        self._nonces[origin] = nonce

    def proof(self, method: str, url: str, origin: str, token: str | None) -> str:
        """`url` is without query and fragment. With a token the proof is bound to it as well."""
        claims: Json = {"jti": uuid.uuid4().hex, "htm": method, "htu": url, "iat": int(time.time())}
        if token is not None:
            hashed = hashlib.sha256(token.encode("ascii")).digest()
            claims["ath"] = base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()
        if origin in self._nonces:
            claims["nonce"] = self._nonces[origin]
        return jwt.encode(claims, self._key, algorithm="ES256", headers={"typ": "dpop+jwt", "jwk": self.jwk})
