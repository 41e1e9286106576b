"""`replan <object> <verb>`: the groups of commands, and the errors of the command line itself."""

import os
import sys
from functools import cache
from importlib import import_module
from itertools import takewhile

import typer
from typer import _click

from orchestrator.cli.invocation import Invocation
from orchestrator.cli.reply import Format, of_error, write
from orchestrator.cli.streams import make_lenient
from shared.domain.errors import Rejected
from shared.domain.exits import ExitCode
from shared.domain.next_step import ShellCommand
from shared.visible import visible

GROUPS = {
    "task": "What you asked for: submit it, watch it, read the report.",
    "plan": "The steps of a task.",
    "step": "A step in a run: look at it, revise it, abandon it.",
    "attempt": "What was tried, with its output.",
    "repair": "What is stuck: what is wrong with it, and what cures it.",
    "bundle": "The evidence of a step, as its planner receives it.",
    "intervention": "What waits for a person.",
    "session": "Work in a repository that ends as deliveries.",
    "delivery": "What agents hand over, and what becomes of it.",
    "accept": "Deliveries that wait for a person.",
    "checkpoint": "What was accepted, published and verified.",
    "worktree": "Where the steps of a session work.",
    "fix": "Fixes that worked, tried first when a step fails in the same way.",
    "project": "A goal in a repository: planned, developed, reviewed and published.",
    "runbook": "Jobs that are known without a model.",
    "host": "Where commands run.",
    "repo": "Where agents work.",
    "secret": "Values that plans name but never contain.",
    "token": "For programs and colleagues, once there is HTTP: nothing accepts one yet.",
    "audit": "What people did, in a chain that shows every change.",
    "store": "The bundles of deliveries, under their SHA-256.",
    "attestation": "What a task proved, signed for those who have no access here.",
    "config": "Settings, and where each value comes from.",
    "guard": "What may run.",
    "schema": "The JSON Schemas of machine-readable output.",
    "db": "The database.",
    "worker": "Processes that do the work.",
    "gateway": "The gateway through which agents ask models.",
    "coordinator": "The process that decides.",
}

ALL = frozenset(GROUPS)


def _root(
    *, show_version: bool = typer.Option(False, "--version", help="Print the version and exit.")
) -> None:
    if show_version:
        from importlib.metadata import version  # slow to load, and seldom asked for

        typer.echo(f"replan {version('replan')}")
        raise typer.Exit


@cache
def build(groups: frozenset[str] = ALL) -> typer.Typer:
    """The application with every command, but for those of other groups, which are named only."""
    app = typer.Typer(
        name="replan",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        help="Plans an outcome into steps, carries them out, and replans from the evidence.",
    )
    app.callback(invoke_without_command=True)(_root)
    for name, told in GROUPS.items():
        group = typer.Typer()
        if name in groups:
            group = import_module(f"orchestrator.cli.{name}_commands").group
        app.add_typer(group, name=name, help=told)
    for name in ("status", "watch", "doctor", "metrics", "help", "down", "logs"):
        import_module(f"orchestrator.cli.{name}_command").register(app)
    import_module("orchestrator.cli.stack_commands").register(app)
    return app


@cache
def command(groups: frozenset[str] = ALL) -> "_click.Command":
    """The same as one command, made once in a process."""
    return typer.main.get_command(build(groups))


def _groups_for(given: list[str]) -> frozenset[str]:
    """The groups whose commands a command line may need: all others need not load."""
    if "_REPLAN_COMPLETE" in os.environ:
        typed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
        given = typed.split()[1:]
    named = next((word for word in given if not word.startswith("-")), "")
    return ALL & {named}


def main(arguments: list[str] | None = None) -> int:
    """Run a command line; returns the exit code, see `ExitCode`."""
    make_lenient(sys.stdout, sys.stderr)
    given = sys.argv[1:] if arguments is None else arguments
    try:
        code = command(_groups_for(given)).main(
            args=given, prog_name="replan", standalone_mode=False
        )
    except _click.ClickException as error:
        return _refuse(given, error)
    except typer.Abort:
        return int(ExitCode.REFUSED)
    except typer.Exit as error:
        return int(error.exit_code)
    return int(code or 0)


def _refuse(given: list[str], error: "_click.ClickException") -> int:
    """Report a mistake on the command line itself, in the requested format."""
    context = getattr(error, "ctx", None)
    path = _path_of(given) if context is None else context.command_path
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stdout.write(f"{visible(error.format_message())}\n")
        return int(ExitCode.REFUSED)
    refused = Rejected(
        error.format_message(), stage="input", next_step=ShellCommand(f"{path} --help")
    )
    words = path.split()[1:]
    no_command = not words or (len(words) == 1 and words[0] in GROUPS)
    kind = "replan" if no_command else ".".join(words)
    call = Invocation(_format_of(given), None)
    result = of_error(kind, refused)
    write(result, call.output, call.console, call.complaints)
    return int(result.exit_code)


def _path_of(given: list[str]) -> str:
    """The command of a command line whose mistake was found before its command was known."""
    words = list(takewhile(lambda word: not word.startswith("-"), given))
    return " ".join(("replan", *words[: 2 if words and words[0] in GROUPS else 1]))


def _format_of(given: list[str]) -> Format:
    for before, text in zip(["", *given], given, strict=False):
        name, _, value = text.partition("=")
        chosen = value if name == "--format" and value else text if before == "--format" else ""
        if chosen in {f.value for f in Format}:
            return Format(chosen)
    return Format.HUMAN


if __name__ == "__main__":
    sys.exit(main())
