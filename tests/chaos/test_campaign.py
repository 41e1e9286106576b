"""A campaign plays what can be played, waits for what lasts, and says what it left out."""

import random
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos import campaign as module
from tests.chaos.campaign import Campaign, Moment
from tests.chaos.faults import Fault, Injected, lasting
from tests.chaos.phases import Phase
from tests.chaos.standstill import Gap


class Quiet:
    """Stands for whatever a campaign looks after and these tests do not."""

    due = 0

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return lambda *_arguments: None


def campaign(monkeypatch: pytest.MonkeyPatch, *faults: Fault) -> Campaign:
    """One on an empty stage, with these faults."""
    monkeypatch.setattr(module, "REGISTRY", {fault.name: fault for fault in faults})
    stage: Any = SimpleNamespace(
        afflicted=set(),
        crew=Quiet(),
        resumptions=Quiet(),
        stand_stills=Quiet(),
        book=SimpleNamespace(spans=()),
    )
    load: Any = None
    return Campaign(stage, load, random.Random(1), say=lambda _: None)  # noqa: S311


def test_what_this_machine_lacks_is_told_and_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Fault("earthquake", lambda _stage, _chance: None, lacking=lambda _stage: "no ground")
    played = campaign(monkeypatch, fault)
    played._phase(Phase("ground", 0.1, 0, {"earthquake": 2}))
    assert played.impossible == {"earthquake": "no ground"}
    assert (played.missing, played.moments) == ({}, [])


def test_what_finds_nothing_to_be_done_to_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OVERTIME", 0.1)
    played = campaign(monkeypatch, Fault("tax", lambda _stage, _chance: None))
    played._phase(Phase("poor", 0.1, 0, {"tax": 1}))
    assert played.missing == {"tax": 1}


def test_a_phase_lasts_until_what_it_did_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    over: list[float] = []
    lasts = lasting("sun", 0.4, lambda _: True, lambda _: over.append(time.monotonic()))
    played = campaign(monkeypatch, Fault("eclipse", lasts))
    began = time.monotonic()
    played._phase(Phase("noon", 0.1, 0, {"eclipse": 1}))
    assert over[0] - began >= 0.4
    assert played.stage.afflicted == set()


def test_what_lasts_comes_once_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lasts = lasting("sun", 0.3, lambda _: True, lambda _: None)
    played = campaign(monkeypatch, Fault("eclipse", lasts))
    played._phase(Phase("noon", 0.1, 0, {"eclipse": 2}))
    first, second = played.moments
    assert second.since >= first.until - 0.05


def test_only_a_long_stand_still_after_a_fault_for_all_is_held_against_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def inject(_stage: object, _chance: object) -> Injected:
        return Injected()

    frozen, killed = Fault("frozen", inject, for_all=True), Fault("killed", inject)
    played = campaign(monkeypatch, frozen, killed)
    played.moments = [Moment("p", fault, None, 10.0, 20.0) for fault in (frozen, killed)]
    gaps: Any = SimpleNamespace(longest=lambda _since, _until: Gap(12.0, 55.0))
    played.stage.stand_stills = gaps
    assert played.stood_still(longer=30.0) == {"frozen": 35.0}
    assert played.stood_still(longer=40.0) == {}
