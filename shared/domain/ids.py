"""References to tasks, steps, subtasks and attempts, as people type and read them."""

import re
from dataclasses import dataclass, replace

from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep

_NUMBER = "[1-9][0-9]{0,17}"
_REF = re.compile(
    rf"T(?P<task>{_NUMBER})(?:\.(?P<step>{_NUMBER}))?"
    rf"(?:\.(?:(?P<looks>look)|(?(step)(?P<subtask>{_NUMBER})|(?!)))(?:#(?P<attempt>{_NUMBER}))?)?"
    r"(?:@(?P<target>[A-Za-z0-9][A-Za-z0-9_.-]*))?",
)

LOOKS = 0
"""What stands for the number of a subtask where planners look; printed as `look`."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A place in a task: `T12`, `T12@web1`, `T12.2`, `T12.2.3`, `T12.2.3#2@web1`.

    `attempt` counts the attempts of one subtask number in one run, over all passes and revisions.
    `T12.2.look#1@web1` is a look of the planner of a step, `T12.look#1@web1` of that of the task.
    """

    task: int
    step: int | None = None
    subtask: int | None = None
    attempt: int | None = None
    target: str | None = None

    def __str__(self) -> str:
        text = f"T{self.task}"
        if self.step is not None:
            text += f".{self.step}"
        if self.subtask is not None:
            text += ".look" if self.subtask == LOOKS else f".{self.subtask}"
        if self.attempt is not None:
            text += f"#{self.attempt}"
        return text if self.target is None else f"{text}@{self.target}"

    def of_task(self) -> "Ref":
        """The task alone."""
        return Ref(self.task)

    def at(self, target: str | None) -> "Ref":
        """The same place on another target."""
        return replace(self, target=target)


def parse_ref(text: str) -> Ref:
    """Parse a reference as typed (a bare number is a task); raises Rejected if it is not one."""
    candidate = f"T{text}" if re.match(r"[1-9]", text) else text[:1].upper() + text[1:]
    found = _REF.fullmatch(candidate)
    if found is None:
        raise Rejected(
            f"{text!r} is not a reference; they look like T12, T12@web1, T12.2 or T12.2.3#1@web1",
            stage="input",
            next_step=NextStep.of("task list"),
        )
    numbers = {
        name: None if found[name] is None else int(found[name])
        for name in ("step", "subtask", "attempt")
    }
    if found["looks"]:
        numbers["subtask"] = LOOKS
    return Ref(task=int(found["task"]), target=found["target"], **numbers)


_PASS = re.compile(r"-r[0-9]+-p[0-9]+(?=@|$)")


def parse_step(text: str) -> Ref:
    """Parse a reference, or the id of a pass, `T12.2-r0-p1@app`: that means its step."""
    return parse_ref(_PASS.sub("", text))


def attempt_key(  # noqa: PLR0917 - the parts of one name, in its order
    run: int, step: int, revision: int, subtask: int, pass_no: int, try_no: int
) -> str:
    """The identity of an attempt: whoever resumes a pass computes the same key."""
    return f"R{run}-{step}-r{revision}-{subtask}-p{pass_no}-t{try_no}"


_CHECK = re.compile(r"-c[0-9]+\.[0-9]+(?:\.[0-9]+)?$")


def is_check_key(key: str) -> bool:
    """Whether the key is that of a check of a judged delivery."""
    return _CHECK.search(key) is not None


@dataclass(frozen=True, slots=True)
class AttemptPlace:
    """The place that the key of an attempt names."""

    key: str
    run: int
    step: int
    revision: int
    subtask: int
    pass_no: int


_KEY = re.compile(
    rf"R({_NUMBER})-({_NUMBER})-r([0-9]{{1,9}})-([0-9]{{1,9}})-p([0-9]{{1,9}})-t[0-9]+"
)


def place_of_key(key: str) -> AttemptPlace | None:
    """The place that the key of an attempt names; None if it is not such a key."""
    found = _KEY.fullmatch(key)
    return None if found is None else AttemptPlace(key, *map(int, found.groups()))


def rollback_key(run: int, step: int, revision: int, subtask: int, pass_no: int) -> str:
    """The identity of the rollback, in that pass, of a subtask of that (earlier) revision."""
    return f"R{run}-{step}-r{revision}-{subtask}-p{pass_no}-back"


_SUBTASK = re.compile(r"-(\d+)-p\d+-(?:t\d+|back)(?:\.\d+)?")


def subtask_of_key(key: str) -> int | None:
    """The number of the subtask that the key of an attempt or of a rollback names."""
    found = _SUBTASK.search(key)
    return None if found is None else int(found[1])


def look_key(run: int, step: int, revision: int, subtask: int, pass_no: int) -> str:
    """The identity of the looks at a subtask in a pass, however often they are repeated."""
    return f"R{run}-{step}-r{revision}-{subtask}-p{pass_no}-look"
