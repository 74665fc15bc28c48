"""What the holder of a nonce may do, and what it has used of it."""

import time
from collections import deque
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from weft.errors import ProviderErrorKind
from weft.schema.messages import Usage
from weft.sessions.ledger import Ledger, Price

_MINUTE: Final = 60.0


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """None and empty mean no limit. `models` are names or patterns such as `claude-haiku-*`; `seconds` is how long
    the nonce lives."""

    models: tuple[str, ...] = ()
    dollars: float | None = None
    tokens: int | None = None
    calls_per_minute: int | None = None
    tokens_per_minute: int | None = None
    seconds: float | None = None


class Refusal(msgspec.Struct, frozen=True):
    """Why a call is not made. `retry_after` is there when waiting helps."""

    kind: ProviderErrorKind
    message: str
    retry_after: float | None = None


class Reserved(msgspec.Struct, frozen=True):
    """What a call under way is expected to take at least: its prompt."""

    tokens: int
    dollars: float


class Account:
    """The running count of one nonce, kept by the ledger that also counts sessions.

    A limit is held before a call: what was used, what calls under way have reserved and the prompt of this one must
    fit. A reply may go over by its own length; nothing is cut in the middle.
    """

    def __init__(self, policy: Policy, price: Price, clock: Callable[[], float] = time.monotonic) -> None:
        self.policy = policy
        self.ledger = Ledger(price)
        self._price = price
        self._clock = clock
        self._reserved: list[Reserved] = []
        self._calls: deque[float] = deque()
        self._spent: deque[tuple[float, int]] = deque()

    def admit(self, asked: str, model: str, prompt: int, *, free: bool = False) -> Reserved | Refusal:
        """`asked` is the model's name as the client wrote it, `model` the one that will answer; either may be in the
        list. `free` is for models on this machine. A `Reserved` goes back through `settle`."""
        policy = self.policy
        if policy.models and not any(fnmatchcase(name, one) for name in (asked, model) for one in policy.models):
            listed = ", ".join(policy.models)
            return Refusal("invalid_request", f"the model {asked!r} is not allowed here; allowed: {listed}")
        dollars = self._price(model, Usage(input_tokens=prompt))
        if dollars is None and policy.dollars is not None and not free:
            words = f"the price of {model!r} is not known, so a budget in dollars cannot hold; set one in tokens"
            return Refusal("billing_error", words)
        wanted = Reserved(prompt, 0.0 if dollars is None or free else dollars)
        refusal = self._over_budget(wanted) or self._too_fast(prompt)
        if refusal is not None:
            return refusal
        self._reserved.append(wanted)
        self._calls.append(self._clock())
        return wanted

    def settle(
        self, reserved: Reserved, model: str, usage: Usage, seconds: float, *, free: bool = False
    ) -> float | None:
        """Counts what the call really took; returns its dollars where they are known."""
        self._reserved.remove(reserved)
        if not usage.context:
            return 0.0
        self._spent.append((self._clock(), usage.context))
        counted = self.ledger.add(model, usage, seconds)
        return 0.0 if free and counted is None else counted

    @property
    def used_tokens(self) -> int:
        return self.ledger.total_usage.context

    def _over_budget(self, wanted: Reserved) -> Refusal | None:
        limit, spent = self.policy.dollars, self.ledger.total_cost
        pending = sum(one.dollars for one in self._reserved)
        if limit is not None and (spent >= limit or spent + pending + wanted.dollars > limit):
            return Refusal("billing_error", f"the budget of ${limit:.2f} is used up: ${spent:.4f} spent")
        most, used = self.policy.tokens, self.used_tokens
        waiting = sum(one.tokens for one in self._reserved)
        if most is not None and (used >= most or used + waiting + wanted.tokens > most):
            return Refusal("billing_error", f"the budget of {most} tokens is used up: {used} used")
        return None

    def _too_fast(self, prompt: int) -> Refusal | None:
        now = self._clock()
        while self._calls and now - self._calls[0] >= _MINUTE:
            self._calls.popleft()
        while self._spent and now - self._spent[0][0] >= _MINUTE:
            self._spent.popleft()
        most = self.policy.calls_per_minute
        if most is not None and len(self._calls) >= most:
            wait = _MINUTE - (now - self._calls[0]) if self._calls else _MINUTE
            return Refusal("rate_limit", f"more than {most} calls in a minute", wait)
        most = self.policy.tokens_per_minute
        if most is None:
            return None
        used = sum(tokens for _, tokens in self._spent) + sum(one.tokens for one in self._reserved)
        if used + prompt > most:
            wait = _MINUTE - (now - self._spent[0][0]) if self._spent else _MINUTE
            return Refusal("rate_limit", f"more than {most} tokens in a minute", wait)
        return None
