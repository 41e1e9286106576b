"""The rules that people have given a task: each is believed as an approval is."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

import structlog
from pydantic import ValidationError

from shared.domain.approval import Approval, rule_digest
from shared.guard import Guard
from shared.guard.policy.files import AllowText
from shared.guard.policy.policy import with_rules
from workers.roles.signatures import Signatures
from workers.store import PassBrief

log = structlog.get_logger()

_SOURCE = "rule of the task"


def guard_with_rules(guard: Guard, given: Iterable[AllowText]) -> Guard:
    """The guard with these rules as well; what the policy denies stays denied."""
    rules = tuple(given)
    if not rules:
        return guard
    policy = replace(guard.policy, checks=())  # the policy has passed them without these rules
    return Guard(with_rules(policy, rules, _SOURCE))


def believed_rules(
    given: Iterable[Approval], task: int, brief: PassBrief, signatures: Signatures
) -> Iterator[AllowText]:
    """The rules of a task that hold at the place of a pass.

    A rule counts if a known key has signed it for exactly this place, as this executor reads it.
    """
    for approval in given:
        if approval.digest != rule_digest(approval.rule, brief.host, brief.repository):
            continue  # it is for another place of the task
        if not signatures.believes(task, approval):
            log.warning("rule_not_signed", task=task, given_by=approval.given_by)
            continue
        if (group := _read(approval)) is not None:
            yield group


def _read(given: Approval) -> AllowText | None:
    """The rules in an approval; None for what this version does not know."""
    try:
        rules = json.loads(given.rule)
        return AllowText.model_validate({"reason": f"given by {given.given_by}", "rules": rules})
    except (ValueError, ValidationError) as error:
        log.warning("rule_not_read", given_by=given.given_by, error=str(error))
        return None
