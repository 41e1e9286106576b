"""What looks at something: a planner, a reviewer, or the checks of a delivery."""

from orchestrator.views.attempts import AttemptLine
from shared.domain.ids import is_check_key


def name_look(attempt: AttemptLine) -> str:
    """What an attempt is called that only looks: only reviewers are agents."""
    if attempt.agent is not None:
        return "review"
    return "check" if is_check_key(attempt.key) else "look"
