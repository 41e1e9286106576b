"""The play: a programme on a stage of its own, judged and told."""

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos import faults_clocks, faults_disks
from tests.chaos.campaign import Campaign
from tests.chaos.evidence import gather
from tests.chaos.faults import Fault
from tests.chaos.ledger import Ledger
from tests.chaos.load import Load
from tests.chaos.oracle import Excuse, Excuses, Verdict, judge
from tests.chaos.phases import Programme
from tests.chaos.stage import Props, staged
from tests.chaos.summary import summary
from tests.services.accounts import Account
from tests.services.availability import not_possible_here
from tests.services.sshd import SshServers

Play = Callable[[Programme], "tuple[Campaign, Verdict]"]

DISKS = {fault.name for fault in faults_disks.FAULTS}
CLOCKS = {fault.name for fault in faults_clocks.FAULTS}

STAND_STILL = 30.0
"""Seconds after the end of a fault within which something begins again."""

GRACE = 1.0
"""Seconds before and after a fault within which it may still explain what happened."""

TOLD_LATE = 3.0
"""Seconds by which a beginning may be told too late, where the host's uptime says when it was."""


@pytest.fixture
def play(tmp_path: Path, sshd_factory: SshServers, ssh_account: Account) -> Play:
    """Plays a programme and says how it went; the seed is REPLAN_CHAOS_SEED, or by chance."""
    if sys.platform != "linux":
        not_possible_here("the campaign finds and kills processes as Linux lists them")

    def played(programme: Programme) -> tuple[Campaign, Verdict]:
        seed = int(os.environ.get("REPLAN_CHAOS_SEED", random.SystemRandom().randrange(10**6)))
        print(f"seed {seed}: REPLAN_CHAOS_SEED={seed} repeats these tasks and faults")
        ledger = Ledger(ssh_account.home / f"ledger-{seed}")
        chance = random.Random(seed)  # noqa: S311 - chance, no secret
        load = Load(ledger, ssh_account.home, ("web1", "web2"), random.Random(seed))  # noqa: S311
        props = Props(
            ssh_account,
            disks=bool(DISKS & programme.faults),
            clocks=bool(CLOCKS & programme.faults),
            settings=programme.settings,
        )
        with staged(tmp_path, sshd_factory, load.library(), ledger, props) as stage:
            campaign = Campaign(stage, load, chance)
            campaign.play(programme)
            evidence, record = gather(stage.rows), ledger.read()
            verdict = judge(stage.book, record, evidence, excuses(campaign))
            print("\n".join(summary(campaign, verdict, record, evidence)))
        return campaign, verdict

    return played


def excuses(campaign: Campaign) -> Excuses:
    """What the faults of a campaign explain."""
    unknown = excuse(campaign, lambda fault: fault.allows_unknown)
    return Excuses(unknown, excuse(campaign, lambda fault: fault.cuts_output))


def excuse(campaign: Campaign, explains: Callable[[Fault], bool]) -> Excuse:
    """Whether a fault that explains it was at work on a host between two moments."""

    def at_work(host: str, since: float, until: float) -> bool:
        return any(
            explains(moment.fault)
            and moment.host in {None, host}
            and moment.since - GRACE <= until
            and since - TOLD_LATE <= moment.until + GRACE
            for moment in campaign.moments
        )

    return at_work


def shortfall(campaign: Campaign) -> dict[str, int]:
    """The faults that were to be injected and were not."""
    return dict(campaign.missing)
