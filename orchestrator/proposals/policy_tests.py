"""Runs the tests that a policy file holds: those beside its rules, and its checks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from shared.guard import Guard, Site


@dataclass(frozen=True, slots=True)
class PolicyTest:
    """A command with the verdict that it must get on a level of the policy, and the one it gets.

    `level` is the group or the host, None for every host.
    """

    level: str | None
    command: str
    expected: str
    verdict: str
    reason: str

    @property
    def passed(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.verdict == self.expected


def policy_tests(site: Site) -> Iterator[PolicyTest]:
    """Every test under every level where it must hold. Raises Misconfigured for a bad rule."""
    for name, policy in site.levels():
        guard = Guard(replace(policy, checks=()))
        for command, expected in policy.checks:
            verdict = guard.judge(command)
            yield PolicyTest(name, command, expected, verdict.kind.value, verdict.reason)


def broken_tests(site: Site) -> tuple[PolicyTest, ...]:
    """The tests that fail; a policy that has any is refused. Raises Misconfigured."""
    return tuple(test for test in policy_tests(site) if not test.passed)
