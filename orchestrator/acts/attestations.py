"""What a person may do with the proof of a task: sign it, and verify what somebody signed."""

from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act
from orchestrator.export import attestation
from orchestrator.export.attestation import Attestation
from orchestrator.views.report import Report
from shared.deliveries.attestation import AttestationKeys
from shared.domain.approval import PUBLIC_KEY
from shared.domain.errors import Rejected
from shared.domain.next_step import Blank, NextStep


@act("attestation.create")
def create(caller: Caller, report: Report) -> str:
    """What a task proved, signed with the key of this machine, as JSON.

    Raises Rejected when the task has not ended, or was a dry run, and Misconfigured when the key
    cannot be used.
    """
    task = report.task
    if not task.ended:
        raise Rejected(
            f"{task.ref} is {task.phase}: what it proved can be signed when it has ended",
            stage="input",
            next_step=NextStep.of("task watch", task.ref),
        )
    if report.predictions:
        raise Rejected(
            f"{task.ref} was a dry run: it proved nothing",
            stage="input",
            next_step=NextStep.of("task report", task.ref),
        )
    return caller.signer.attest(attestation.statement(report))


@act("attestation.verify")
def verify(caller: Caller, text: str, key: str | None = None) -> Attestation:
    """What an attestation says; it must be signed with `key`, or else with this machine's.

    Raises Rejected when it cannot be trusted.
    """
    return attestation.verify(text, key or _own_key(caller))


@act("attestation.key")
def public_key(caller: Caller) -> str:
    """The public half of the key with which workers of this machine sign what they checked.

    It is created if there is none. Raises Misconfigured when it cannot be used.
    """
    return AttestationKeys(caller.settings.server.data_dir).public


def _own_key(caller: Caller) -> str:
    path = caller.settings.server.approval_folder / PUBLIC_KEY
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(
            "there is no key on this machine: say whose signature it must bear",
            stage="input",
            next_step=NextStep.of("attestation verify", Blank("FILE"), key=Blank("KEY")),
        ) from error
