"""`replan repo …`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.completion import repositories
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.posted import with_notes
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, next_step, plain
from shared.domain.exits import ExitCode
from shared.domain.host import LOCALHOST
from shared.domain.next_step import Blank, NextStep
from shared.domain.target import ForgeKind, Repository, RepositoryFault

if TYPE_CHECKING:  # avoids loading SQLAlchemy: `--help` is quick
    from orchestrator.acts.repositories import RepositoryCheck

group = typer.Typer(name="repo", no_args_is_help=True)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The repository's name.", autocompletion=repositories)
]


@add(group, "add", example="replan repo add app --path ~/src/app --setup 'npm ci' --copy .env.test")
def add_(
    call: Invocation,
    name: NameArgument,
    *,
    path: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Its folder, on its host.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="In place of a folder: what git there can clone from.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="The enrolled host on which agents work.")
    ] = LOCALHOST.name,
    branch: Annotated[
        str | None, typer.Option(help="Where work starts; what it has checked out if left out.")
    ] = None,
    setup: Annotated[
        str | None, typer.Option(help="The command that makes a fresh workspace ready.")
    ] = None,
    setup_timeout: Annotated[
        float, typer.Option(min=1, max=86_400, help="How long that may take, in seconds.")
    ] = 600.0,
    check: Annotated[
        list[str] | None,
        typer.Option(help="A command that must be green in every workspace; repeat it for more."),
    ] = None,
    runner: Annotated[
        list[str] | None,
        typer.Option(help="An agent that may work there; repeat it. Left out: any."),
    ] = None,
    copy: Annotated[
        list[str] | None,
        typer.Option(help="A pattern of ignored files that a workspace needs; repeat it."),
    ] = None,
    label: Annotated[list[str] | None, typer.Option(help="A label, as env=test.")] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN=WHO",
            help="Who accepts a change of these files: checks, review or person; repeat it.",
        ),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Files that no delivery may change; repeat it."),
    ] = None,
    reviewer: Annotated[
        list[str] | None,
        typer.Option(metavar="RUNNER", help="An agent that reviews; repeat it. Left out: any."),
    ] = None,
    remote: Annotated[
        str | None,
        typer.Option(help="Where accepted work is published: a path or a URL. Left out: here."),
    ] = None,
    forge: Annotated[
        ForgeKind | None, typer.Option(help="Where a request to merge is opened besides.")
    ] = None,
    forge_project: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME", help="Its project there.")
    ] = None,
    forge_token_secret: Annotated[
        str | None, typer.Option(metavar="NAME", help="The secret that is a token for it.")
    ] = None,
    forge_api: Annotated[
        str | None, typer.Option(metavar="URL", help="Its API, if it has a host of its own.")
    ] = None,
    merge_into: Annotated[
        str | None, typer.Option(metavar="BRANCH", help="The branch to merge into.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="In place of the repository of that name.")
    ] = False,
    ask: Annotated[
        bool, typer.Option("--ask/--no-ask", help="Ask git on the host about it first.")
    ] = True,
) -> Result:
    """Add a repository in which agents work. They get their own workspaces, never its folder."""
    from orchestrator.acts import repositories
    from orchestrator.acts.remotes import forge_of, is_url
    from orchestrator.acts.trust import trust_rules

    wanted = Repository(
        name=name,
        host=host,
        path=_place(path, host),
        url=url,
        branch=branch,
        setup=setup,
        setup_timeout=setup_timeout,
        checks=tuple(check or ()),
        runners=None if runner is None else tuple(runner),
        copied=tuple(copy or ()),
        labels=tuple(label or ()),
        trust=trust_rules(trust or ()),
        forbidden_paths=tuple(forbid or ()),
        reviewers=tuple(reviewer or ()),
        remote=remote if remote is None or is_url(remote) else _place(remote, host),
        forge=forge_of(
            forge, project=forge_project, token=forge_token_secret, into=merge_into, api=forge_api
        ),
    )
    done = repositories.add(call.caller, wanted, replaced=replace, check=ask)

    def show(console: Console) -> None:
        console.print(f"added [bold]{plain(name)}[/] on {plain(host)}", highlight=False)
        _show_report(console, done.value)
        next_step(console, NextStep.of("repo show", name))

    return with_notes(Result("repo.add", done.value, show), done)


@add(group, "list", example="replan repo list")
def list_(call: Invocation) -> Result:
    """List every repository."""
    from orchestrator.acts import repositories

    found = repositories.list_repositories(call.caller)

    def show(console: Console) -> None:
        rows = [
            (
                each.name,
                each.host,
                plain(each.source),
                plain(each.branch or ""),
                plain(", ".join(each.labels)),
            )
            for each in found
        ]
        if rows:
            console.print(listing(("repository", "host", "where", "branch", "labels"), rows))
        else:
            console.print("there is no repository yet")
            next_step(console, NextStep.of("repo add", Blank("NAME"), path=Blank("FOLDER")))

    return Result("repo.list", {"repositories": list(found)}, show, items=found)


@add(group, "show", example="replan repo show app")
def show_(call: Invocation, name: NameArgument) -> Result:
    """Show a repository: where it is, what its workspaces get, and how long agents need there."""
    from orchestrator.views.repositories import repository_view
    from orchestrator.words.agents import describe_suggestion

    with call.reading() as connection:
        found = repository_view(connection, name)

    def show(console: Console) -> None:
        rows = [(label, plain(text)) for label, text in _lines(found) if text]
        rows += [("time budget", plain(describe_suggestion(each))) for each in found.suggestions]
        console.print(listing(("", ""), rows))

    return Result("repo.show", found, show)


@add(group, "check", example="replan repo check app")
def check_(call: Invocation, name: NameArgument) -> Result:
    """Ask git on its host whether agents can work in a repository."""
    from orchestrator.acts import repositories
    from orchestrator.words.repositories import explain_report

    done = repositories.check(call.caller, name)
    found = done.value
    report = found.report
    if report is None or report.fault is None:

        def show(console: Console) -> None:
            console.print(f"[green]✓[/] agents can work in {plain(name)}")
            _show_report(console, found)

        return with_notes(Result("repo.check", found, show), done)
    reason, step = explain_report(found.repository, report)

    def show_fault(console: Console) -> None:
        console.print(f"[red]✗[/] {plain(reason)}", highlight=False)
        console.print("  at stage: repository")
        next_step(console, step)

    gone = report.fault is RepositoryFault.UNREACHABLE
    return Result(
        "repo.check",
        found,
        show_fault,
        exit_code=ExitCode.UNREACHABLE if gone else ExitCode.REFUSED,
        stage="repository",
        reason=reason,
        next_step=step,
    )


@add(group, "remove", example="replan repo remove app")
def remove(call: Invocation, name: NameArgument) -> Result:
    """Remove a repository from the list; its folder stays as it is."""
    from orchestrator.acts import repositories

    done = repositories.remove(call.caller, name)
    result = Result("repo.remove", done.value, lambda c: c.print(f"removed {plain(name)}"))
    return with_notes(result, done)


def _place(path: str | None, host: str) -> str | None:
    """On this machine a path may be written as a person writes it; elsewhere it must be whole."""
    if path is None or host != LOCALHOST.name:
        return path
    return str(Path(path).expanduser().absolute())


def _lines(found: Repository) -> tuple[tuple[str, str], ...]:
    return (
        ("name", found.name),
        ("host", found.host),
        ("path", found.path or ""),
        ("url", found.url or ""),
        ("branch", found.branch or "what it has checked out"),
        ("setup", f"{found.setup} (at most {found.setup_timeout:g} s)" if found.setup else ""),
        ("checks", "; ".join(found.checks)),
        ("agents", "any" if found.runners is None else ", ".join(found.runners)),
        ("copied", ", ".join(found.copied)),
        ("labels", ", ".join(found.labels)),
        ("trust", ", ".join(f"{rule.pattern}={rule.trust}" for rule in found.trust)),
        ("forbidden", ", ".join(found.forbidden_paths)),
        ("reviewers", ", ".join(found.reviewers)),
        ("publishes to", found.remote or "" if found.forge is None else _forge(found)),
    )


def _forge(found: Repository) -> str:
    forge = found.forge
    if forge is None:
        return ""
    where = f"{forge.kind} {forge.project} at {forge.api}"
    return f"{found.remote or found.source}, to be merged into {forge.into} on {where}"


def _show_report(console: Console, found: "RepositoryCheck") -> None:
    from orchestrator.words.repositories import describe_programs

    report = found.report
    if report is not None and report.commit is not None:
        where = f"branch {report.branch}" if report.branch else "no branch"
        console.print(f"  {plain(where)}, commit {report.commit[:12]}", highlight=False)
    if report is not None and report.fault is None:
        for line in describe_programs(found.repository, report):
            console.print(f"  {plain(line)}", highlight=False)
