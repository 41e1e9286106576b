"""Gates about paths: what a repository, or replan, says of the files that a delivery changes."""

from collections.abc import Iterator
from functools import lru_cache

from pathspec import GitIgnoreSpec

from shared.domain.delivery import Trust
from shared.domain.findings import Effect, Finding, GateRule
from workers.agents.steering import steering_files
from workers.deliveries.gates.values import GateInput

_EFFECTS = {Trust.REVIEW: Effect.REVIEW, Trust.PERSON: Effect.PERSON}


def find_forbidden(given: GateInput) -> Iterator[Finding]:
    """Paths that the repository forbids to change; the last pattern that matches decides."""
    patterns = given.policy.forbidden_paths
    for change in given.changes if patterns else ():
        if matches(patterns, change.path):
            yield Finding(
                GateRule.FORBIDDEN, Effect.REFUSE, change.path, _deciding(patterns, change.path)
            )


def find_trust(given: GateInput) -> Iterator[Finding]:
    """Paths of which the repository says that checks alone may not accept them.

    Of the rules that match a path, the strictest counts.
    """
    rules = [rule for rule in given.policy.trust if rule.trust is not Trust.CHECKS]
    rules.sort(key=lambda rule: rule.trust is Trust.REVIEW)
    for change in given.changes:
        rule = next((rule for rule in rules if matches((rule.pattern,), change.path)), None)
        if rule is not None:
            yield Finding(GateRule.TRUST, _EFFECTS[rule.trust], change.path, rule.pattern)


def find_steering(given: GateInput) -> Iterator[Finding]:
    """Files that steer agents, CI or git."""
    for path in steering_files(change.path for change in given.changes):
        yield Finding(GateRule.STEERING, Effect.PERSON, path)


def find_reverted(given: GateInput) -> Iterator[Finding]:
    """Files that are what they were before, as a stale tree makes them.

    Where nobody worked meanwhile, no tree is stale: its author meant it, and a person decides. An
    empty file is like any other empty one, and says nothing.
    """
    effect = Effect.PERSON if given.from_head else Effect.REFUSE
    sizes = {change.path: change.size for change in given.changes}
    for path, commit in given.reverted:
        if sizes.get(path):
            yield Finding(GateRule.REVERTED, effect, path, commit)


def matches(patterns: tuple[str, ...], path: str) -> bool:
    """Whether the patterns, as in `.gitignore`, name the path.

    A pattern of folders names a file or a link in the place of the folder, too.
    """
    found = _spec(patterns)
    return found.match_file(path) or found.match_file(f"{path}/")


def _deciding(patterns: tuple[str, ...], path: str) -> str:
    named = (each for each in reversed(patterns) if matches((each,), path))
    return next(named, "")


@lru_cache(maxsize=64)
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(patterns)
