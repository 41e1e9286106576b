"""Whether a policy file passes its own tests."""

from dataclasses import dataclass
from pathlib import Path

from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act
from orchestrator.proposals.policy_tests import PolicyTest, policy_tests
from shared.guard import load_site


@dataclass(frozen=True, slots=True)
class PolicyTests:
    """The tests of a policy file, each with its verdict, and how many failed."""

    tests: tuple[PolicyTest, ...]
    failed: int


@act("guard.test")
def run_tests(caller: Caller, file: Path) -> PolicyTests:
    """Judge every command of the file's tests; nothing is run.

    Raises Misconfigured for a file that is not a valid policy.
    """
    del caller
    tests = tuple(policy_tests(load_site(file)))
    return PolicyTests(tests, sum(not test.passed for test in tests))
