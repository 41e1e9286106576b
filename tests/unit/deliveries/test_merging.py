"""What is examined once more when a delivery is put behind its line."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from shared.deliveries.bundle import pack
from shared.deliveries.store import PatchStore
from shared.domain.delivery import Rejection, Trust
from shared.domain.findings import Effect, Finding, GateRule
from shared.domain.target import Repository
from shared.secrets.masking import Masker
from shared.store.deliveries import StoredDelivery
from shared.wire import to_json
from tests.unit.deliveries.given import BUNDLE, META
from tests.unit.deliveries.made import delivery
from workers.deliveries.line import Line
from workers.deliveries.merging import merge_behind
from workers.deliveries.values import Accepted, Merged

MERGED = delivery({"a.py": "new"}, {"a.py": "old"})
HEAD, COMMIT, OLDER = "d" * 40, "e" * 40, "f" * 40
REVERTED = Finding(GateRule.REVERTED, Effect.PERSON, "a.py", OLDER)
STEERING = Finding(GateRule.STEERING, Effect.PERSON, "AGENTS.md")


@dataclass
class Reverting:
    """A line on which the delivery brings an old file back, behind what others have done."""

    digest: str

    def apply(self, *_: object) -> None:
        """It is there."""

    def merge(self, *_: object, session: str) -> Merged:
        """Without a conflict."""
        tree = f"{session}".ljust(40, "0")
        return Merged(COMMIT, tree, (Accepted(self.digest, COMMIT, tree),), MERGED.changes)

    def contents(self, *_: object) -> object:
        """Those of the merge."""
        return MERGED.contents

    def entries(self, *_: object) -> tuple[str, ...]:
        """Nothing is new."""
        return ()

    def reverted(self, *_: object) -> tuple[tuple[str, str], ...]:
        """As the line says it."""
        return (("a.py", OLDER),)


@pytest.mark.parametrize(
    ("findings", "rejection"),
    [((REVERTED,), None), ((STEERING,), Rejection.GATE), ((), Rejection.GATE)],
)
def test_a_revert_that_a_person_has_allowed_may_be_merged(
    tmp_path: Path, findings: tuple[Finding, ...], rejection: Rejection | None
) -> None:
    """What others have accepted since then does not make a stale tree of it."""
    store = PatchStore.open(str(tmp_path))
    stored = store.put(pack(BUNDLE))
    published = StoredDelivery(
        run_id=1,
        step=1,
        revision=0,
        pass_no=1,
        attempt_key=None,
        runner=None,
        issue_id=META.issue_id,
        deliverables={},
        stats={},
        findings=tuple(map(to_json, findings)),
        trust=Trust.PERSON,
        sha256=stored.sha256,
        uri=stored.uri,
        size=stored.size,
        base=META.base_sha,
        tree=META.result_tree,
        created_at=META.created_at,
    )
    merge = merge_behind(
        cast("Line", Reverting(stored.sha256)),
        HEAD,
        [published],
        {1: "Take it back"},
        store=store,
        repository=Repository("app", "localhost", "/srv"),
        masker=Masker(()),
        session="T1",
    )
    assert merge.rejection is rejection
