"""What an agent is asked to do, as text."""

from dataclasses import dataclass

from shared.contracts.project import DevTask
from shared.domain.question import Reply


@dataclass(frozen=True, slots=True)
class Assignment:
    """The work of an agent.

    `context` names files of the repository to read first. `acceptance` says what must hold at the
    end. `earlier` tells what another attempt did already: the workspace holds its work. `replies`
    are questions that a person has answered. In a session, `dev_task` is the step as a development
    task, with the history of its rejections; its work is delivered under the id `issue`, as what
    differs from the commit `base`.
    """

    goal: str
    context: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    earlier: str = ""
    replies: tuple[Reply, ...] = ()
    dev_task: DevTask | None = None
    issue: str | None = None
    base: str = ""

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
        if self.dev_task is not None:
            parts.append(_development(self.dev_task))
        if self.replies:
            answered = "\n\n".join(map(str, self.replies))
            parts.append(f"A person has answered these questions:\n\n{answered}")
        if self.issue is not None:
            parts.append(_DELIVERED.format(issue=self.issue, base=self.base))
        return "\n\n".join(parts)


_DELIVERED = """\
What you leave in this folder is delivered as {issue}. At the end, say in `deliverables` what was \
done, how to verify it, and what may go wrong because of it. `changed_files` has to name every \
file that differs from the commit {base}, whoever has changed it, and no other: a deleted file \
too, and a moved file by both of its paths. These commands list them:

git diff --name-only --no-renames {base}
git ls-files --others --exclude-standard"""


def _development(task: DevTask) -> str:
    """The development task, and what an author has to do whose delivery was rejected."""
    parts = ["This is the development task that you work at, as JSON:", as_json(task)]
    if task.rejection_history:
        parts.append(
            "Its `rejection_history` says why its earlier deliveries were rejected, the first time "
            "first. This folder holds the last of them, on top of all that was accepted meanwhile. "
            "Put right everything that the newest entry says, and keep what is good already. Where "
            "files could not be merged they have conflict markers: resolve every one of them."
        )
    return "\n\n".join(parts)


def as_json(task: DevTask) -> str:
    """The development task as an agent reads it: what differs from a task that nobody has begun."""
    return task.model_dump_json(indent=1, exclude_defaults=True)


def _listed(title: str, lines: tuple[str, ...]) -> str:
    return "\n".join((title, *(f"- {line}" for line in lines)))
