"""What each way on from something that waits is for, in a few words."""

from typing import Final

from shared.domain.next_step import Advice, NextStep

_PURPOSES: Final = {
    "accept run --apply": "take what was delivered",
    "accept run --reject": "send it back",
    "bundle send": "send the evidence to its planner",
    "bundle send --note": "send it with a word of yours",
    "bundle show": "see the evidence",
    "checkpoint run": "try to publish it again",
    "checkpoint show": "see what stopped it",
    "delivery show": "see what was delivered",
    "doctor": "see what is wrong with this installation",
    "intervention answer": "answer it",
    "intervention answer --adopt": "believe the host",
    "intervention answer --again": "run it again",
    "intervention answer --discard": "put those records aside",
    "intervention answer --not-run": "it did not run",
    "intervention answer --ran": "it did run",
    "intervention approve": "let it run, once",
    "intervention approve --for-task": "let it run whenever this task does",
    "intervention deny": "do not let it run",
    "intervention show": "see all of it",
    "plan approve": "approve the whole plan",
    "plan approve --list": "see what would run",
    "plan calls": "see what its models have cost",
    "plan provide": "give a plan of your own",
    "session status": "see where it stands",
    "step abandon": "give this step up",
    "step raise": "let its agents cost more",
    "step revise --file": "give new subtasks of your own",
    "step revise --now": "have its planner do so",
    "step show": "see the step",
    "task cancel": "stop the whole task",
    "task report": "see what was done so far",
    "task resume": "try again, once the cause is gone",
    "task resume --cost-cap": "go on, and pay more",
}
"""By the verb, and the first option that changes what it is for."""


def purpose_of(step: Advice) -> str:
    """What it is for, as the end of "type this to"; empty for what explains itself."""
    if not isinstance(step, NextStep):
        return ""
    names = (f"{step.verb} --{option.name}" for option in step.options)
    return next((_PURPOSES[name] for name in (*names, step.verb) if name in _PURPOSES), "")
