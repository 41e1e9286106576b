"""What the author of a delivery says about it, from the attempts of the pass that made it; pure.

Only what was said in that pass counts: deliverables are used once (S2.85).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from shared.contracts.deliverables import compose_deliverables
from shared.domain.attempt import AgentResult, Attempt
from shared.domain.outcome import GREEN
from workers.agents.deliverable import DELIVERABLES
from workers.deliveries.gates.values import Claim

_NO_CHECK: Final = "Read the change: neither the step nor its repository has a check."
_SPOKEN: Final = ("summary", "how_to_verify", "risks")


def claim_of(
    issue: str,
    attempts: Sequence[Attempt],
    *,
    tree: str,
    changed: Collection[str],
    title: str,
    checks: Sequence[str] = (),
) -> Claim:
    """What the last agent of a pass says it delivers, or what replan says where it cannot.

    `attempts` are those of the pass, oldest first; `changed` are the files that the delivery `tree`
    changes, `title` is that of the step, and `checks` are commands that were green. What commands
    have changed after the agent is added to its files: it could not know. If several agents worked,
    what each of them says stands in it. The claim is not valid because it is made here.
    """
    agents = [
        each.result
        for each in attempts
        if isinstance(each.result, AgentResult) and each.outcome in GREEN and not each.rollback
    ]
    if agents and _speaks(agents[-1]):
        said = _with_earlier(_said(agents[-1]), [_said(each) for each in agents[:-1]])
        return Claim(issue, _with_later_changes(said, agents[-1], tree, changed))
    summaries = [title, *(each.summary for each in agents)]
    return Claim(
        issue,
        compose_deliverables(
            issue_id=issue,
            summary=[each for each in summaries if each.strip()] or [issue],
            changed_files=changed,
            how_to_verify=checks or [_NO_CHECK],
        ),
    )


def _speaks(result: AgentResult) -> bool:
    return result.structured is not None and DELIVERABLES in result.structured


def _said(result: AgentResult) -> Any:
    return None if result.structured is None else result.structured.get(DELIVERABLES)


def _with_earlier(said: Any, earlier: Sequence[Any]) -> Any:
    """What the last one says, with the lists of those before it in front of its own."""
    if not isinstance(said, Mapping):
        return said
    listed = [each for each in (*earlier, said) if isinstance(each, Mapping)]
    lists = {name: _joined([each.get(name) for each in listed]) for name in _SPOKEN}
    own = {name: each for name, each in lists.items() if isinstance(said.get(name), list)}
    return {**said, **own}


def _joined(lists: Sequence[object]) -> list[object]:
    every = [item for each in lists if isinstance(each, list) for item in each]
    return [item for place, item in enumerate(every) if item not in every[:place]]


def _with_later_changes(
    said: Any, last: AgentResult, tree: str, changed: Collection[str]
) -> object:
    """The same with the files that changed, and changed back, after the agent ended."""
    named = said.get("changed_files") if isinstance(said, Mapping) else None
    if last.tree == tree or not isinstance(named, list):
        return said
    now, then = frozenset(changed), frozenset(last.changed_files)
    kept = [each for each in named if each not in then - now]
    later = sorted(now - then - frozenset(each for each in kept if isinstance(each, str)))
    return {**said, "changed_files": [*kept, *later]}
