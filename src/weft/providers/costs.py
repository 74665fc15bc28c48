"""Tokens to dollars. Cache reads and writes have prices of their own."""

from weft.providers.catalogue import Catalogue, Prices, catalogue
from weft.schema.messages import Usage

_WEB_SEARCH = 0.01
"""Dollars for one search by the provider."""


def price(model: str, usage: Usage, known: Catalogue | None = None) -> float | None:
    """What a reply cost; None where the model's price is not known."""
    prices = (known or catalogue()).facts(model).prices
    return None if prices is None else cost(prices, usage)


def cost(prices: Prices, usage: Usage) -> float:
    read = prices.input * 0.1 if prices.cache_read is None else prices.cache_read
    write = prices.input * 1.25 if prices.cache_write is None else prices.cache_write
    prompt = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    above = prices.above is not None and prompt > prices.above
    factor = prices.above_factor if above else 1.0
    out_factor = prices.above_output_factor if above and prices.above_output_factor is not None else factor
    read_in = (
        usage.input_tokens * prices.input
        + usage.cache_read_input_tokens * read
        + usage.cache_creation_input_tokens * write
    )
    dollars = (read_in * factor + usage.output_tokens * prices.output * out_factor) / 1_000_000
    return dollars + usage.web_search_requests * _WEB_SEARCH
