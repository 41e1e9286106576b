"""Who acts: what a role covers, what only an account on the machine may do."""

import pytest

from orchestrator.access.actor import Actor
from orchestrator.access.origin import Origin, OriginKind
from orchestrator.access.roles import ON_THE_MACHINE, VERBS, AccessRole
from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import ACTS, act
from shared.domain.errors import Misconfigured, Rejected
from shared.settings import Settings


def token(role: AccessRole) -> Caller:
    """Somebody with a token of that role."""
    return Caller(Actor("token:ci", role), Settings())


@pytest.mark.parametrize("role", list(AccessRole))
def test_a_token_may_do_what_its_role_covers(role: AccessRole) -> None:
    for verb, needed in VERBS.items():
        if role.covers(needed.role):
            token(role).may(verb)
        else:
            with pytest.raises(Rejected, match="takes the role"):
                token(role).may(verb)


@pytest.mark.parametrize("verb", sorted(ON_THE_MACHINE))
def test_no_token_is_for_what_takes_an_account_on_the_machine(verb: str) -> None:
    Caller.of_account(Settings()).may(verb)
    with pytest.raises(Misconfigured, match="cannot be done with a token"):
        token(AccessRole.ADMIN).may(verb)


def test_there_is_no_verb_beside_the_table() -> None:
    with pytest.raises(Misconfigured):
        Caller.of_account(Settings()).may("task.destroy")


def test_nothing_is_read_for_who_may_not() -> None:
    with (
        pytest.raises(Rejected, match="takes the role"),
        token(AccessRole.VIEWER).reading("doctor"),
    ):
        pytest.fail("it was let in")


def test_an_act_is_done_only_for_who_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.acts.verbs.ACTS", dict(ACTS))
    done: list[str] = []

    @act("host.remove")
    def remove(caller: Caller, name: str) -> None:
        """Remove it."""
        done.append(f"{caller.actor.name} {name}")

    with pytest.raises(Rejected, match="takes the role admin"):
        remove(token(AccessRole.APPROVER), "web1")
    remove(token(AccessRole.ADMIN), "web1")
    assert done == ["token:ci web1"]


@pytest.mark.parametrize("verb", sorted(VERBS.keys() | ON_THE_MACHINE))
def test_a_job_may_look_and_change_nothing(verb: str) -> None:
    """A command that replan runs approves nothing, and sees no settings, secrets, keys or audit."""
    actor = Actor("ann@box", AccessRole.ADMIN, Origin(OriginKind.JOB, "1.1"))
    caller = Caller(actor, Settings(), on_machine=True)
    group = verb.partition(".")[0]
    closed = group in {"secret", "token", "audit", "config"} or verb.endswith((".key", ".create"))
    if verb in VERBS and not VERBS[verb].changes and not closed:
        caller.may(verb)
    elif verb not in {"up", "worker.start", "gateway.start", "coordinator.start"}:
        with pytest.raises(Rejected, match="only people may do that") as refused:
            caller.may(verb)
        assert refused.value.stage == "access"
