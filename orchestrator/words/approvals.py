"""What a person is asked to approve, in words."""

from collections.abc import Iterator

from orchestrator.views.approvals import ApprovalView
from orchestrator.words.agents import describe_repository, describe_work
from orchestrator.words.failures import describe_before
from orchestrator.words.previews import describe_preview
from orchestrator.words.rules import describe_offer
from orchestrator.words.visible_text import visible


def describe_account(user: str | None, *, sudo: bool) -> str:
    """As whom a command runs."""
    account = user or "the account of the worker"
    return f"root (sudo from {account})" if sudo else account


def describe(text: ApprovalView) -> Iterator[tuple[str, str]]:
    """Describe a text for a person, as pairs of a name and a text."""
    yield "goal" if text.work else text.part, visible(text.command)
    if text.failed_before is not None:
        yield "ran before", visible(describe_before(text.failed_before))
    if text.rollback:
        yield "undone by", visible(text.rollback)
    for name, said in describe_work(text.work) if text.work else ():
        yield name, visible(said)
    where = f"{text.ref} on {text.host} ({text.address})"
    folder = text.workdir or "its home folder"
    if text.repository is not None:
        folder = f"a workspace of {visible(describe_repository(text.repository))}"
    yield "where", f"{where} as {describe_account(text.user, sudo=text.sudo)}, in {folder}"
    if text.environment:
        yield "with", ", ".join(text.environment)
    yield "why", f"{text.reason} (rule {text.rule})" if text.rule else text.reason
    if text.piece and text.piece.strip() != text.command.strip():
        yield "at", visible(text.piece)
    if text.preview is not None:
        yield from describe_preview(text.preview)
    for name, said in describe_offer(text.offer) if text.offer else ():
        yield name, visible(said)
    yield "counts for", f"exactly this text ({text.digest[:16]}) under the policy {text.policy}"
