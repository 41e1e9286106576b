"""Faults of hosts and of the links to them."""

import random
from typing import Final

from tests.chaos.faults import Fault, Injected
from tests.chaos.stage import Stage
from tests.chaos.stage_host import StageHost

SILENCE: Final = 5.0
DOWN: Final = 10.0
SLOW: Final = 3.0
DELAY: Final = 0.1
"""Seconds by which everything on a slow link is late."""


def _session_killed(stage: Stage, chance: random.Random) -> Injected | None:
    serving = [(host, pid) for host in stage.hosts for pid in host.sessions()]
    if not serving:
        return None
    host, pid = chance.choice(serving)
    host.end_session(pid)
    return Injected(host=host.name)


def _link_cut(stage: Stage, chance: random.Random) -> Injected | None:
    host = chance.choice(stage.hosts)
    return Injected(host=host.name) if host.link.cut() else None


def _link_silent(stage: Stage, chance: random.Random) -> Injected | None:
    host = chance.choice(stage.hosts)
    host.link.black_hole()
    return Injected(host.link.pass_on, SILENCE, host.name)


def _link_slow(stage: Stage, chance: random.Random) -> Injected | None:
    host = chance.choice(stage.hosts)
    host.link.slow(DELAY)
    return Injected(host.link.pass_on, SLOW, host.name)


def _host_down(stage: Stage, chance: random.Random) -> Injected | None:
    standing = [host for host in stage.hosts if host.server.pid is not None]
    if not standing:
        return None
    host: StageHost = chance.choice(standing)
    host.server.stop()
    return Injected(host.server.start, DOWN, host.name)


FAULTS: Final = (
    Fault("session of sshd killed", _session_killed),
    Fault("link cut", _link_cut),
    Fault("link silent 5 s", _link_silent),
    Fault("link slow 3 s", _link_slow),
    Fault("sshd down 10 s", _host_down),
)
