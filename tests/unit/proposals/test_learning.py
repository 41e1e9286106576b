"""Rules learned from approvals: the narrowest that cover them, and nothing that was denied."""

from functools import cache

from orchestrator.proposals.learning import Case, LearnedRule, learn
from shared.guard import Guard, load_site


@cache
def guard_for(host: str) -> Guard:
    """The guard of a fresh installation."""
    del host
    return Guard(load_site(None).for_host())


def learned(
    approved: list[str], denied: list[str] | None = None, recorded: list[str] | None = None
) -> tuple[LearnedRule, ...]:
    """What is learned from questions about these texts, in their order."""
    return learn(
        [Case(text, "web1", f"I{n}") for n, text in enumerate(approved)],
        [Case(text, "web1", f"I{n}") for n, text in enumerate(denied or (), 100)],
        [(text, "web1") for text in recorded or ()],
        guard_for,
    )


def commands(found: tuple[LearnedRule, ...]) -> list[tuple[str, int]]:
    return [(each.rule.command, each.saved) for each in found]


def test_what_was_approved_once_teaches_nothing() -> None:
    assert learned(["webctl graceful", "ufw allow 80/tcp", "ls"]) == ()


def test_the_same_words_are_one_rule_and_near_ones_are_listed_or_of_a_kind() -> None:
    """Two words are listed; from three on the narrowest kind stands for them."""
    assert commands(learned(["webctl graceful"] * 3)) == [("webctl graceful", 3)]
    assert commands(learned(["webctl -n x now", "webctl -n y now"])) == [("webctl -n x|y now", 2)]
    assert commands(learned([f"webctl -n {n} now" for n in (1, 22, 3)])) == [
        ("webctl -n <number> now", 3)
    ]
    assert commands(learned([f"webctl -d /srv/app/r/{n}/x" for n in "abc"])) == [
        ("webctl -d <below:/srv/app/r>", 3)
    ]
    roots = learned([f"webctl -d {place}" for place in ("/usr/a", "/usr/b", "/usr/c")])
    assert commands(roots) == [("webctl -d /usr/a|/usr/b|/usr/c", 3)]


def test_options_and_two_words_are_never_generalised() -> None:
    """Only what was seen together stays together."""
    assert learned(["webctl --now", "webctl --later"]) == ()
    assert learned(["webctl -n a b", "webctl -n c d"]) == ()


def test_nothing_that_was_denied_is_covered() -> None:
    """A kind falls back to a list, a list to what was approved several times by itself."""
    numbers = [f"webctl -n {n} now" for n in (1, 2, 3)]
    assert commands(learned(numbers, ["webctl -n 9 now"])) == [("webctl -n 1|2|3 now", 3)]
    assert commands(learned([*numbers, numbers[1]], [numbers[0]])) == [("webctl -n 2 now", 2)]
    assert learned(["webctl graceful"] * 5, ["webctl graceful && rm -rf /srv/app"]) == ()


def test_each_rule_says_what_else_it_would_allow() -> None:
    """Recorded commands first, then neighbours; what was allowed before is not counted."""
    (found,) = learned(
        [f"webctl -n {n} now" for n in (1, 2, 3)], recorded=["webctl -n 77 now", "ls", "webctl x"]
    )
    assert found.also[0] == "webctl -n 77 now"
    assert "webctl -n 65535 now" in found.also
    assert "ls" not in found.also


def test_a_question_about_two_programs_is_saved_by_both_rules() -> None:
    """It counts for the rule that makes it go away."""
    found = learned(["webctl a && appctl b"] * 2 + ["webctl a"])
    assert commands(found) == [("webctl a", 1), ("appctl b", 2)]
