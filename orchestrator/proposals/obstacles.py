"""What no rule for a program can change, and so none is offered."""

from dataclasses import dataclass
from enum import StrEnum


class NoRule(StrEnum):
    """Why no rule for a program can help."""

    FORBIDDEN = "forbidden"  # a rule denies it, or it may turn out to be denied
    UNREADABLE = "unreadable"  # what the text does is not known to its end
    SECRET = "secret"  # noqa: S105 - it holds, shows or reads what is secret
    CODE = "code"  # it runs code that nobody has seen
    BROUGHT = "brought"  # what it runs or reads has been brought there
    PLACE = "place"  # it writes where the policy has no place to write
    VARIABLE = "variable"  # it sets a variable for a program
    INPUT = "input"  # what comes in on its standard input decides what it does
    UNKNOWN_WORD = "unknown_word"  # a word of it is known only when it runs
    FLEETING = "fleeting"  # what it names is another thing later
    NOT_ENOUGH = "not_enough"  # it would still ask
    WANTED = "wanted"  # a plan or a setting wants a person to see it
    OTHER_POLICY = "other_policy"  # the executor judges by other rules than those at hand


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that no rule for a program can change: at which part of the text, and why."""

    kind: NoRule
    part: str
    reason: str
