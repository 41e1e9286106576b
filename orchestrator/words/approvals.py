"""What a person is asked to approve, in words."""

from collections.abc import Iterator

from orchestrator.views.approvals import ApprovalView


def describe(text: ApprovalView) -> Iterator[tuple[str, str]]:
    """Describe a text for a person, as pairs of a name and a text."""
    yield text.part, visible(text.command)
    where = f"{text.ref} on {text.host} ({text.address})"
    folder = text.workdir or "its home folder"
    yield "where", f"{where} as {text.user or 'the account of the worker'}, in {folder}"
    if text.environment:
        yield "with", ", ".join(text.environment)
    yield "why", f"{text.reason} (rule {text.rule})" if text.rule else text.reason
    if text.piece and text.piece != text.command:
        yield "at", visible(text.piece)
    yield "bound to", f"{text.digest[:16]}, policy {text.policy}"


def visible(written: str) -> str:
    """A text with nothing hidden: characters that do not print are written as escapes."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode()
        for sign in written
    )
