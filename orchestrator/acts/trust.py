"""Who may accept what in a repository, as a person says it."""

from collections.abc import Iterable

from pathspec import GitIgnoreSpec

from orchestrator.acts.remotes import refusal
from shared.contracts.complaints import unknown
from shared.domain.agent import NEEDS_COMMAND, REVIEWERS, STARTABLE
from shared.domain.delivery import Trust
from shared.domain.target import Repository, TrustRule


def trust_rules(texts: Iterable[str]) -> tuple[TrustRule, ...]:
    """The rules in texts such as `migrations/=person`; raises Rejected for any other."""
    return tuple(map(_rule, texts))


def check_trust(repository: Repository) -> None:
    """Raise Rejected for a pattern of files or a reviewer that cannot be meant."""
    for rule in repository.trust:
        _check_pattern(rule.pattern)
        if rule.pattern.startswith("!"):
            raise refusal(
                f"{rule.pattern!r} is not a valid pattern of a rule: of all rules that match a "
                "file the strictest counts, so none can take it back"
            )
    for pattern in repository.forbidden_paths:
        _check_pattern(pattern)
    for reviewer in repository.reviewers:
        if reviewer in NEEDS_COMMAND:
            raise refusal(f"{reviewer!r} cannot review: it is not started by its name alone")
        if reviewer in STARTABLE and reviewer not in REVIEWERS:
            raise refusal(f"{reviewer!r} cannot review: it gives no answer in a given form")
        if reviewer not in REVIEWERS:
            raise refusal(f"the reviewer {reviewer!r} is {unknown(reviewer, REVIEWERS)}")


def _rule(text: str) -> TrustRule:
    pattern, _, trust = text.rpartition("=")
    if pattern and trust in tuple(Trust):
        return TrustRule(pattern, Trust(trust))
    raise refusal(
        f"{text!r} is not a valid rule of trust: write PATTERN={', PATTERN='.join(Trust)}"
    )


def _check_pattern(pattern: str) -> None:
    try:
        found = GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        found = None
    is_one = found is not None and any(each.include is not None for each in found.patterns)
    if not is_one or not pattern.isprintable():
        raise refusal(
            f"{pattern!r} is not a valid pattern of files: write it as in .gitignore, such as "
            "migrations/ or *.lock"
        )
