"""Many texts are found by how they begin: as many as a plain search finds, wherever they stand."""

import random

import pytest

from shared.secrets.heads import Heads, continues
from shared.secrets.rule import MaskRule
from shared.secrets.rules import RULES
from shared.secrets.structure import Structure


@pytest.mark.parametrize("seed", range(30))
def test_every_text_is_found_that_a_plain_search_finds(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - chance, no secret

    def some(most: int) -> bytes:
        return bytes(chance.choice(b"ab") for _ in range(chance.randint(3, most)))

    texts = sorted({some(9) for _ in range(12)})
    content = some(400)
    heads = Heads(texts, 3)
    found = set(heads.whole(content, heads.places(content)))
    assert found == {
        (start, text)
        for text in texts
        for start in range(len(content))
        if content.startswith(text, start)
    }


@pytest.mark.parametrize(
    ("begun", "expected"),
    [(b"ab", True), (b"abc", True), (b"abcd", False), (b"x", False), (b"b", False), (b"", True)],
)
def test_a_text_continues_what_is_less_than_the_whole_of_it(begun: bytes, expected: bool) -> None:
    assert continues([b"abc", b"abcd", b"b"], begun) is expected


def test_a_mask_asks_for_no_search_of_its_own_words() -> None:
    line = "‹secret:DB› and ‹masked:password› stay, token=4xK9mQ2vLp7R goes\n".encode()
    masked = Structure().mask(line, RULES)
    assert masked == "‹secret:DB› and ‹masked:password› stay, token=‹masked:token› goes\n".encode()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.near])
@pytest.mark.parametrize(
    "line",
    [
        b"API_KEY=4xK9mQ2vLp7R",
        b'"Client-Key-Data": "4xK9mQ2vLp7R"',
        b"SecretsValue => 4xK9mQ2vLp7R",
    ],
)
def test_what_a_pattern_finds_is_near_in_lower_case(rule: MaskRule, line: bytes) -> None:
    assert rule.pattern.search(line)
    assert rule.near is not None
    assert rule.near.search(line.lower())
