"""The price of tokens in dollars; an unknown model has no price, and none is guessed."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from workers.llm.calls import Usage

_MILLION = Decimal(1_000_000)
_MOST = Decimal(1_000_000)
_READ, _WRITTEN = Decimal("0.1"), Decimal("1.25")
"""The default prices of the cache, read and written, as a factor of the input price."""

_DATE = re.compile(r"-\d{8}$")


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens: uncached input, output, read from cache, written to cache."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_written: Decimal

    def of(self, usage: Usage) -> Decimal:
        """The cost of a call, in dollars."""
        told = (
            self.input * usage.input_tokens
            + self.output * usage.output_tokens
            + self.cache_read * usage.cache_read_tokens
            + self.cache_written * usage.cache_written_tokens
        )
        return told / _MILLION


SHIPPED = (
    "claude-fable-5-1=10/50/0.25/12.5",
    "claude-mythos-5-1=10/50/0.25/12.5",
    "claude-fable-5=10/50/1/12.5",
    "claude-mythos-5=10/50/1/12.5",
    "claude-opus-5-5=4/20/0.2/5",
    "claude-opus-5=5/25/0.5/6.25",
    "claude-opus-4-8=5/25/0.5/6.25",
    "claude-opus-4-7=5/25/0.5/6.25",
    "claude-opus-4-6=5/25/0.5/6.25",
    "claude-opus-4-5=5/25/0.5/6.25",
    "claude-sonnet-5-5=2/10/0.1/2.5",
    "claude-sonnet-5=2/10/0.2/2.5",
    "claude-sonnet-4-6=3/15/0.3/3.75",
    "claude-sonnet-4-5=3/15/0.3/3.75",
    # the price of prompts up to 100,000 tokens; questions here are far shorter
    "claude-haiku-5-5=0.1/0.5/0.01/0.125",
    "claude-haiku-4-5=1/5/0.1/1.25",
)
"""List prices of October 2026, with the five-minute cache; `model_prices` sets newer ones."""


class Prices:
    """The shipped prices, overridden or extended by those in the settings."""

    def __init__(self, given: Iterable[str] = ()) -> None:
        """Raises Misconfigured for an entry that is not a valid price."""
        self._by_model: Mapping[str, Price] = dict(map(_read, (*SHIPPED, *given)))

    def cost(self, model: str, usage: Usage) -> Decimal | None:
        """The cost of a call in dollars; None if the price of the model is unknown."""
        price = self.price(model)
        return None if price is None else price.of(usage)

    def price(self, model: str) -> Price | None:
        """The price of a model, by its full name or its name without the date."""
        return self._by_model.get(model) or self._by_model.get(_DATE.sub("", model))


def _read(entry: str) -> tuple[str, Price]:
    name, equals, said = entry.partition("=")
    parts = [_dollars(part, entry) for part in said.split("/")] if equals and name.strip() else []
    if len(parts) == 2:  # noqa: PLR2004 - in and out alone
        parts += [parts[0] * _READ, parts[0] * _WRITTEN]
    if len(parts) != 4:  # noqa: PLR2004 - all four
        raise _wrong(entry)
    read_afresh, produced, cache_read, cache_written = parts
    return name.strip(), Price(read_afresh, produced, cache_read, cache_written)


def _dollars(text: str, entry: str) -> Decimal:
    try:
        dollars = Decimal(text.strip())
    except InvalidOperation:
        raise _wrong(entry) from None
    if not (dollars.is_finite() and 0 <= dollars <= _MOST):
        raise _wrong(entry)
    return dollars


def _wrong(entry: str) -> Misconfigured:
    return Misconfigured(
        f"model_prices: {entry!r} is not a valid price; write NAME=2/10 or NAME=2/10/0.2/2.5, "
        "in dollars per million tokens: input, output, read from cache, written to cache",
        stage="config",
        next_step=NextStep.of("config show"),
    )
