"""The keys that agents get instead of the real one: random, each for one child, worthless when that is gone."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import Final

from weft.proxy.policy import Account, Policy
from weft.sessions.ledger import Price

_PREFIX: Final = "weft-"
_BYTES: Final = 32


class Grant:
    """One nonce: who holds it and what it has used. `id` names it in logs and gives nothing away."""

    def __init__(self, who: str, nonce: str, account: Account, ends: float | None) -> None:
        self.who = who
        self.nonce = nonce
        self.account = account
        self.ends = ends
        self.id = hashlib.sha256(nonce.encode()).hexdigest()[:12]

    def __repr__(self) -> str:
        return f"Grant({self.who}, {self.id})"


class Nonces:
    """Those that are good now. A nonce that was revoked or ran out is never good again."""

    def __init__(self, price: Price, clock: Callable[[], float] = time.monotonic) -> None:
        self._price = price
        self._clock = clock
        self._grants: list[Grant] = []

    def issue(self, who: str, policy: Policy | None = None) -> Grant:
        policy = policy or Policy()
        nonce = _PREFIX + secrets.token_urlsafe(_BYTES)
        ends = None if policy.seconds is None else self._clock() + policy.seconds
        grant = Grant(who, nonce, Account(policy, self._price, self._clock), ends)
        self._grants.append(grant)
        return grant

    def find(self, presented: str) -> Grant | None:
        """Who holds `presented`. Every nonce is compared in full, so that time tells nothing."""
        given = presented.encode("utf-8", "surrogateescape")
        now = self._clock()
        found: Grant | None = None
        for grant in self._grants:
            same = hmac.compare_digest(grant.nonce.encode(), given)
            if same and (grant.ends is None or now < grant.ends):
                found = grant
        return found

    def revoke(self, grant: Grant) -> None:
        """Returns quietly when it was revoked before."""
        if grant in self._grants:
            self._grants.remove(grant)
