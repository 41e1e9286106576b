"""What a person is waited for."""

from enum import StrEnum


class InterventionKind(StrEnum):
    """Why a run or task waits for somebody."""

    PLAN = "plan"  # no backend could plan it
    REVISION = "revision"  # the author of the step is a person
    HELD_BUNDLE = "held_bundle"  # X4, S0.84
    ESCALATION = "escalation"  # everything automatic is used up (S0.59)
    BLOCKED = "blocked"  # a forbidden command (S0.61)
    APPROVAL = "approval"  # it may run once a person has approved it (S0.88, X17)
    PLAN_APPROVAL = "plan_approval"  # nothing of the plan runs before
    UNKNOWN = "unknown"  # nobody can say how a command ended
    ROLLBACK = "rollback"  # what was to be undone before a revision begins could not be
    OPERATOR = "operator"  # something is misconfigured
    SPENDING = "spending"  # what models may cost for the task or in a day is used up
    BUDGET = "budget"  # what the agents of a subtask may cost is used up
    QUESTION = "question"  # only a person knows (S3.11, S3.57)
    DELIVERY = "delivery"  # a person is to accept what a delivery changes
    CHECKPOINT = "checkpoint"  # what was accepted is not published, and a person is to see to it
    FORGOTTEN = "forgotten"  # a host has records that the database does not know
