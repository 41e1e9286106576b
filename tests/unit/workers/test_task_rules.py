"""Rules of a task: believed if signed for this task and this place, as an approval is."""

import json
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from shared.domain.approval import Approval, ApprovalScope, rule_digest, statement
from shared.domain.host import Host
from shared.guard import Guard, load_site
from workers.roles.signatures import Signatures
from workers.roles.task_rules import believed_rules, guard_with_rules
from workers.store import PassBrief

KEY = Ed25519PrivateKey.generate()
PUBLIC = b64encode(KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
WEB1 = Host("web1", address="10.0.0.1", port=22, user="app")
RULE = json.dumps([{"run": "webctl", "style": "exact", "operands": "'x'", "directory": "."}])


def signed(rule: str = RULE, host: Host = WEB1, task: int = 7) -> Approval:
    """A rule of a task, signed by somebody whom the executor knows."""
    until = datetime(2030, 1, 1, tzinfo=UTC)
    digest = rule_digest(rule, host, None)
    given = Approval(digest, ApprovalScope.RULE, "ann@desk", until, rule=rule)
    return replace(given, signature=b64encode(KEY.sign(statement(task, given))).decode())


def judged(given: Approval, command: str, folder: Path) -> str:
    """The verdict on a command of task 7 on web1 with that rule in the database."""
    brief = cast("PassBrief", SimpleNamespace(host=WEB1, repository=None))
    rules = believed_rules([given], 7, brief, Signatures([PUBLIC], folder))
    guard = guard_with_rules(Guard(load_site(None).for_host()), rules)
    return guard.judge(command).kind.value


@pytest.mark.parametrize(
    ("given", "command", "verdict"),
    [
        (signed(), "webctl x", "allow"),
        (signed(), "webctl y", "approve"),
        (signed(task=8), "webctl x", "approve"),
        (signed(host=replace(WEB1, user="root")), "webctl x", "approve"),
        (replace(signed(), signature=""), "webctl x", "approve"),
        (replace(signed(), rule=RULE.replace("x'", "y'")), "webctl y", "approve"),
        (replace(signed(), given_by="eve@desk"), "webctl x", "approve"),
        (replace(signed(), expires_at=datetime(2031, 1, 1, tzinfo=UTC)), "webctl x", "approve"),
        (signed('[{"run": "rm", "flags": "any", "operands": "any*"}]'), "rm -rf /", "deny"),
        (signed('[{"run": "webctl", "from": "later"}]'), "webctl x", "approve"),
        (signed("not JSON"), "webctl x", "approve"),
    ],
)
def test_only_what_a_known_key_signed_for_this_place_counts(
    given: Approval, command: str, verdict: str, tmp_path: Path
) -> None:
    """Another task, host, account, rule, person or time is another statement."""
    assert judged(given, command, tmp_path) == verdict
