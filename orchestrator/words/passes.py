"""What becomes of a step that a person has carried out now, in words."""

from orchestrator.views.standing_steps import PassWay, RunPass

_WAYS = {
    PassWay.AGAIN: "runs again, with its counters cleared",
    PassWay.ON: "is driven on where its pass came to no end",
    PassWay.NOW: "does not wait any longer",
}
_WOULD = {
    PassWay.AGAIN: "would run again, with its counters cleared",
    PassWay.ON: "would be driven on where its pass came to no end",
    PassWay.NOW: "would not wait any longer",
}


def describe_way(run: RunPass) -> str:
    """What has happened, or would: `runs again, with its counters cleared: pass 3`."""
    told = (_WAYS if run.applied else _WOULD)[run.way]
    return f"{told}: pass {run.pass_no}"
