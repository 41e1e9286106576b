"""What an agent is asked to do, as text."""

from dataclasses import dataclass

from shared.domain.question import Reply


@dataclass(frozen=True, slots=True)
class Assignment:
    """The work of an agent.

    `context` names files of the repository to read first. `acceptance` says what must hold at the
    end. `earlier` tells what another attempt did already: the workspace holds its work. `replies`
    are questions that a person has answered.
    """

    goal: str
    context: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    earlier: str = ""
    replies: tuple[Reply, ...] = ()

    def __str__(self) -> str:
        """The task as the agent reads it."""
        parts = [self.goal.strip()]
        if self.context:
            parts.append(_listed("Read these files first:", self.context))
        if self.acceptance:
            parts.append(_listed("The work is done when all of this holds:", self.acceptance))
        if self.earlier:
            parts.append(
                "An earlier attempt left its work in this folder. Continue from it; do not start "
                f"again. This is what is known about it:\n\n{self.earlier.strip()}"
            )
        if self.replies:
            answered = "\n\n".join(map(str, self.replies))
            parts.append(f"A person has answered these questions:\n\n{answered}")
        return "\n\n".join(parts)


def _listed(title: str, lines: tuple[str, ...]) -> str:
    return "\n".join((title, *(f"- {line}" for line in lines)))
