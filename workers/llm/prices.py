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

_KEPT = Decimal("1.6")
"""Writing what is kept for an hour costs so much more than what is kept for five minutes."""

_PLACE = re.compile(r"^(?:(?P<place>[a-z-]+)\.)?anthropic\.")
"""How Bedrock begins a name: `anthropic.`, or where the model runs and then `anthropic.`."""

_REVISION = re.compile(r"-v\d+(?::\d+)?$")
_DATE = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2})$")

_EVERYWHERE = "global"
_ONE_PLACE = Decimal("1.1")
"""A name that keeps a model in one part of the world costs a tenth more than a global one."""


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
            + self.cache_written * (usage.cache_written_tokens - usage.cache_kept_tokens)
            + self.cache_written * _KEPT * usage.cache_kept_tokens
        )
        return told / _MILLION

    def times(self, factor: Decimal) -> "Price":
        """This price with that surcharge."""
        return Price(
            self.input * factor,
            self.output * factor,
            self.cache_read * factor,
            self.cache_written * factor,
        )


SHIPPED = (
    "claude-fable-5-2=8/40/0.2/10",
    "claude-mythos-5-2=8/40/0.2/10",
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
    # the price of prompts up to 100,000 tokens
    "claude-haiku-5-5=0.1/0.5/0.01/0.125",
    "claude-haiku-4-5=1/5/0.1/1.25",
    # the prices of prompts up to 272,000 tokens
    "gpt-6.2-astra=8/40/0.4/10",
    "gpt-6.2-sol=2/10/0.1/2.5",
    "gpt-6.1-sol=2/10/0.1/2.5",
    "gpt-6.1-terra=1/5/0.05/1.25",
    "gpt-6-astra=10/50/1/12.5",
    "gpt-6-sol=2/10/0.2/2.5",
    "gpt-6-luna=0.1/0.5/0.01/0.125",
)
"""List prices of November 2026, with the five-minute cache; `model_prices` sets newer ones.

The higher prices that some providers have for long prompts are not known here. What planners ask is
far shorter; what agents ask may not be, and is then counted for less than it costs.
"""


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
        """The price of a model, by its full name or its name without the date.

        Bedrock's and Vertex AI's names for a model of Anthropic have the price of its own name.
        """
        if (given := self._by_model.get(model)) is not None:
            return given
        plain = _DATE.sub("", _REVISION.sub("", model))
        found = _PLACE.match(plain)
        if found is None:
            return self._by_model.get(plain)
        price = self._by_model.get(plain[found.end() :])
        everywhere = found["place"] == _EVERYWHERE
        return price if price is None or everywhere else price.times(_ONE_PLACE)


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
