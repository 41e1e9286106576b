"""What is compared in a fast way gives what the plain way gives: paths and patterns of paths."""

import random
import re
from posixpath import normpath

import pytest

from shared.guard import load_site
from shared.guard.paths import canonical
from shared.guard.policy.path_patterns import PathPatterns
from shared.guard.words import HOME, literal_word

NAMES = ("a", "..", ".", "", "self", "root", "b c", "*", "1")


def some_path(chance: random.Random) -> str:
    return "/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 6)))


@pytest.mark.parametrize("seed", range(20))
def test_a_known_path_leads_where_the_kernel_goes(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - chance, no secret
    for _ in range(100):
        path, here = some_path(chance), "/" + normpath(f"/srv/{some_path(chance)}").lstrip("/")
        whole = path if path.startswith("/") else f"{here}/{path}"
        expected = "/" + normpath(whole).lstrip("/")
        assert canonical(literal_word(path), literal_word(here)).literal == expected


@pytest.mark.parametrize(
    ("path", "here", "found"),
    [
        ("a/../b", ".", "./b"),
        ("../b", "/srv/a", "/srv/b"),
        ("../../..", "/srv/a", "/"),
        ("..", ".", None),
        ("//etc///x/.", "/srv", "/etc/x"),
        (f"{HOME}/a/..", "/srv", HOME),
        ("/proc/self/root/etc", ".", "/etc"),
        ("self/root/etc", "/proc", "/etc"),
        ("", "/srv", "/srv"),
        ("/", "/srv", "/"),
    ],
)
def test_a_path_in_a_directory(path: str, here: str, found: str | None) -> None:
    assert canonical(literal_word(path), literal_word(here)).literal == found


def fitting(pattern: str, chance: random.Random) -> str:
    """A path that the pattern names, or nearly."""
    signs = (
        "".join(chance.choice("ab/.x\n") for _ in range(chance.randint(0, 4)))
        if sign == "*"
        else sign
        for sign in pattern
    )
    path = "".join(signs)
    cut = chance.randint(0, len(path)) if chance.random() < 1 / 3 else len(path)
    return path[:cut] + chance.choice(("", "", "", "x", "/", ".pub"))


@pytest.mark.parametrize("seed", range(10))
def test_the_first_pattern_that_names_a_path_is_told(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - chance, no secret
    territory = load_site(None).for_host("h1").territory
    for texts in (territory.secret, territory.public):
        some = chance.sample(texts, min(len(texts), 60))
        patterns = PathPatterns(some)
        whole = [(text, re.compile(_expression(text), re.DOTALL | re.IGNORECASE)) for text in some]
        for text in some:
            path = fitting(text.replace("~", HOME, 1) if text[:1] == "~" else text, chance)
            named = next((each for each, regex in whole if regex.fullmatch(path)), None)
            told = patterns.naming(literal_word(path))
            assert told == (None if named is None else named.lower())


def _expression(text: str) -> str:
    at_home = HOME + text[1:] if text.startswith("~") else text
    return "".join(".*" if sign == "*" else re.escape(sign) for sign in at_home)
