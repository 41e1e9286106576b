"""`replan delivery …`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.session_options import ProjectOption, SessionOption
from orchestrator.cli.tables import AFTER, listing, moment, next_step, plain, tell_rest
from shared.domain.delivery import DeliveryStatus, Rejection
from shared.domain.ids import parse_ref
from shared.domain.next_step import NextStep

if TYPE_CHECKING:  # avoids loading SQLAlchemy: `--help` is quick
    from orchestrator.views.deliveries import DeliveryView, JudgementLine

group = typer.Typer(name="delivery", no_args_is_help=True)


@add(group, "list", example="replan delivery list --session T12")
def list_(
    call: Invocation,
    *,
    session: SessionOption = None,
    project: ProjectOption = None,
    status: Annotated[DeliveryStatus | None, typer.Option(help="Only those that are so.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 1000,
    after: Annotated[int | None, typer.Option(min=1, help=AFTER)] = None,
) -> Result:
    """List what agents have handed over, and where each delivery is now, newest first."""
    from orchestrator.cli.deliveries_table import deliveries_table
    from orchestrator.views.deliveries import list_deliveries
    from orchestrator.views.places import require_target
    from orchestrator.views.sessions import require_session

    with call.reading() as connection:
        require_target(connection, project)
        place = None if session is None else require_session(connection, parse_ref(session))
        page = list_deliveries(
            connection,
            limit=limit,
            run_id=None if place is None else place.run_id,
            repository=project,
            status=status,
            after=after,
        )
    found = page.deliveries
    rest = NextStep.of(
        "delivery list",
        session=session,
        project=project,
        status=None if status is None else status.value,
        limit=limit,
        after=page.next,
    )
    further = None if page.next is None else rest

    def show(console: Console) -> None:
        if not found:
            console.print("nothing has been delivered")
            return
        console.print(deliveries_table(found))
        tell_rest(console, further)

    return Result("delivery.list", page, show, items=found, next_step=further)


@add(group, "show", example="replan delivery show D7")
def show_(
    call: Invocation,
    name: Annotated[
        str,
        typer.Argument(
            metavar="DELIVERY",
            help="Its name in the list (D7), the beginning of its SHA-256, or its step: T12.3.",
        ),
    ],
) -> Result:
    """Show a delivery: what it changes, what gates, checks and reviewers said, where it is now."""
    from orchestrator.views.deliveries import delivery_view

    with call.reading() as connection:
        view = delivery_view(connection, name)
    step = view.waiting[0].next_steps[1] if view.waiting else None

    def show(console: Console) -> None:
        line = view.delivery
        console.print(f"[bold]{line.name}[/] {line.ref} {line.issue} {plain(line.title)}")
        rows = [(label, plain(text)) for label, text in _lines(view) if text]
        console.print(listing(("", ""), rows))
        for heading, lines in _sections(view):
            if lines:
                console.print(f"\n[dim]── {heading}[/]")
                for each in lines:
                    console.print(plain(each), highlight=False)
        if view.waiting:  # its patch.diff is what the person is to allow
            next_step(console, NextStep.of("store get", line.sha256, output="delivery.tar"))
        for waits in view.waiting:
            for way in waits.next_steps[1:3]:
                next_step(console, way)

    return Result("delivery.show", view, show, next_step=step)


def _lines(view: "DeliveryView") -> Iterator[tuple[str, str]]:
    from orchestrator.words.quantities import count_of
    from orchestrator.words.sessions import where_now

    line = view.delivery
    told = line.rejection is Rejection.CONFLICT and line.reason  # which says it with the files
    place = where_now(line.status, line.stage, None if told else line.rejection, line.place)
    checkpoint = f" (checkpoint {view.checkpoint})" if view.checkpoint else ""
    yield "now", f"{place}{checkpoint}"
    yield "because", line.reason
    yield "by", line.runner or "commands"
    yield "attempt", view.attempt or ""
    yield "delivered", moment(line.created_at)
    yield "changes", f"{count_of(line.files, 'file')} (+{line.added} -{line.deleted})"
    yield "base", view.base
    yield "tree", view.tree
    yield "commit", view.commit or ""
    yield "accepted as", f"number {view.accepted_as}" if view.accepted_as else ""
    yield "settled", " ".join(filter(None, (moment(line.settled_at), line.settled_by)))
    yield "who may accept", view.trust.value
    yield "bundle", f"{line.sha256} ({view.size} bytes)" if view.uri else ""
    yield "where", view.uri


def _sections(view: "DeliveryView") -> Iterator[tuple[str, list[str]]]:
    from shared.domain.finding_words import describe_findings

    said = view.deliverables
    for heading, key in (
        ("what it says", "summary"),
        ("files", "changed_files"),
        ("how to verify", "how_to_verify"),
        ("risks", "risks"),
    ):
        texts = said.get(key)
        yield heading, [f"- {each}" for each in texts] if isinstance(texts, list) else []
    yield "gates", list(describe_findings(view.findings))
    yield "checks", [text for each in view.judgements for text in _judgement(each)]
    yield "review", list(_review(view))
    yield "waits for you", [each.reason for each in view.waiting]


def _judgement(each: "JudgementLine") -> Iterator[str]:
    from orchestrator.words.sessions import short

    made = f"tree {short(each.tree)} on" if each.tree else "on"
    on = f"{made} top of {short(each.onto)}"
    signed = ", signed" if each.attested else ""
    if each.same_as is not None:
        signed = ", checked before" + signed
    yield f"{each.turn}. {each.status.replace('_', ' ')}: {on}{signed}"
    checks = each.report.get("checks")
    for check in checks if isinstance(checks, list) else []:
        seconds = f" in {check['seconds']:.1f} s" if check.get("seconds") is not None else ""
        yield f"   {check.get('command', '')}: {check.get('told', '')}{seconds}"
    conflicts = each.report.get("conflicts")
    for path in conflicts if isinstance(conflicts, list) else []:
        yield f"   conflict: {path}"


def _review(view: "DeliveryView") -> Iterator[str]:
    if view.review is None:
        return
    result = view.review.result
    verdict = "approved" if view.review.approved else "rejected"
    yield f"{view.review.reviewer} {verdict} it: {result.get('summary', '')}"
    comments = result.get("comments")
    for each in comments if isinstance(comments, list) else [comments] if comments else []:
        yield f"- {each}"
