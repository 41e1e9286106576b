"""The price of tokens."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import Misconfigured
from shared.settings.server import ServerSettings
from workers.llm.calls import Usage
from workers.llm.prices import Prices

USAGE = Usage(
    input_tokens=1000, cache_read_tokens=10_000, cache_written_tokens=2000, output_tokens=500
)


@pytest.mark.parametrize(
    ("model", "given_prices", "cost"),
    [
        ("claude-sonnet-5-5", (), "0.013"),
        ("claude-opus-5-5", (), "0.026"),
        ("claude-sonnet-4-5-20250929", (), "0.021"),
        ("claude-fable-5-2", (), "0.05"),
        ("claude-mythos-5-2", (), "0.05"),
        ("claude-sonnet-4-5@20250929", (), "0.021"),
        ("claude-opus-5-5@20260922", (), "0.026"),
        ("global.anthropic.claude-sonnet-5-5", (), "0.013"),
        ("global.anthropic.claude-sonnet-4-5-20250929-v1:0", (), "0.021"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", (), "0.0231"),
        ("us-gov.anthropic.claude-opus-5-5-v1", (), "0.0286"),
        ("anthropic.claude-opus-5-5", (), "0.0286"),
        ("us.anthropic.claude-opus-5-5", ("us.anthropic.claude-opus-5-5=1/2/0/0",), "0.002"),
        ("us.anthropic.claude-opus-5-5", ("claude-opus-5-5=1/2/0/0",), "0.0022"),
        ("us.anthropic.claude-unheard-of-v1:0", (), None),
        ("us.meta.llama4-maverick-17b-instruct-v1:0", (), None),
        ("gpt-6.2-sol", (), "0.013"),
        ("gpt-6-luna-2026-09-22", (), "0.0007"),
        ("openai/gpt-6.2-sol", (), None),
        ("claude-sonnet-5-5", ("claude-sonnet-5-5=1/2",), "0.0055"),
        ("own", ("own=1/2/0/0",), "0.002"),
        ("own", ("own = 1 / 2 / 0.5 / 3",), "0.013"),
        ("free", ("free=0/0",), "0"),
        ("claude-unheard-of", (), None),
        ("", (), None),
    ],
)
def test_a_call_costs_what_its_tokens_cost(
    model: str, given_prices: tuple[str, ...], cost: str | None
) -> None:
    expected = None if cost is None else Decimal(cost)
    assert Prices(given_prices).cost(model, USAGE) == expected


def test_the_model_that_is_asked_unless_another_is_named_has_a_price() -> None:
    assert Prices().price(ServerSettings().model) is not None


@pytest.mark.parametrize(
    "entry",
    [
        "own",
        "own=",
        "own=1",
        "own=1/2/3",
        "own=1/2/3/4/5",
        "=1/2",
        "own=a/b",
        "own=-1/2",
        "own=nan/1",
        "own=1e12/1",
    ],
)
def test_what_is_no_price_is_told_with_how_one_looks(entry: str) -> None:
    with pytest.raises(Misconfigured, match="NAME=2/10") as raised:
        Prices([entry])
    assert entry in raised.value.reason


def test_what_is_kept_for_an_hour_costs_more_than_what_is_kept_for_five_minutes() -> None:
    """Twice the price of the input, and not a quarter more."""
    kept = Usage(cache_written_tokens=1_000_000, cache_kept_tokens=1_000_000)
    assert Prices().cost("claude-opus-5-5", kept) == 8
    both = Usage(cache_written_tokens=1_000_000, cache_kept_tokens=500_000)
    assert Prices().cost("claude-opus-5-5", both) == Decimal("6.5")


@given(*[st.integers(0, 10**7)] * 4)
def test_two_calls_cost_what_both_cost(a: int, b: int, c: int, d: int) -> None:
    one, two = Usage(a, b, c, d), Usage(d, c, b, a)
    price = Prices().price("claude-opus-5-5")
    assert price is not None
    assert price.of(one + two) == price.of(one) + price.of(two)
