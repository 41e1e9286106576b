"""`replan up` and `replan demo`: everything on this machine."""

import shlex
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.example_plans import example_plan
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.passphrase import TerminalPassphrases
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import in_colour, next_step, plain, show_markdown
from orchestrator.cli.terminal import Terminal
from shared.domain.config import MODEL_PROVIDERS
from shared.domain.errors import Rejected, ReplanError
from shared.domain.exits import ExitCode, code_of
from shared.domain.next_step import NextStep, ShellCommand
from shared.domain.task import TaskPhase
from shared.settings import (
    RunningElsewhere,
    Settings,
    load_settings,
    missing_key_of,
    usual_data_dir,
)

if TYPE_CHECKING:  # avoids loading SQLAlchemy: `--help` is quick
    from orchestrator.embedded.stage import Stage
    from orchestrator.embedded.watched import ChildEvent

_LOOK_EVERY = 1.0
"""Seconds between two looks at whether the supervisor itself still runs."""

_EVENTS = {kind: f"process_{kind}" for kind in ("started", "ready", "died", "stopped")}


def register(app: typer.Typer) -> None:
    """Add both commands to the application."""
    add(app, "up", example="replan up --executors 2")(up)
    add(app, "demo", example="replan demo")(demo)


def up(
    call: Invocation,
    *,
    data_dir: Annotated[Path | None, typer.Option(help="The data folder.")] = None,
    executors: Annotated[
        int, typer.Option(min=1, max=64, help="The number of executor processes.")
    ] = 1,
    detach: Annotated[
        bool,
        typer.Option(
            "--detach", help="Return once everything is up, and leave it running; see `down`."
        ),
    ] = False,
) -> Result:
    """Run Postgres, Valkey, a coordinator, workers and a model gateway here until Ctrl-C.

    Meanwhile, other commands of this user find them automatically. If REPLAN_DATABASE_URL and
    REPLAN_BROKER_URL are set, those servers are used instead of embedded ones. With --detach they
    outlive this terminal: `replan down` stops them, `replan logs` shows what they say.
    """
    from orchestrator.acts.signing import Signer

    settings = load_settings(call.environ, call.config_file, find_running=False)
    folder = data_dir or settings.server.data_dir
    if call.human and sys.stdin.isatty():
        Signer(settings.server.approval_key_dir or folder, TerminalPassphrases())
    run = partial(_run, call, settings, folder, executors)
    if detach:
        return _in_background(call, settings, folder, run)

    def tell(event: "ChildEvent") -> None:
        if event.kind in {"ready", "died"} and call.human:
            with _ignore_closed_terminal():
                call.complaints.print(f"{plain(event.name)} {event.kind} {plain(event.detail)}")

    def say_up() -> None:
        with _ignore_closed_terminal():
            _show_up(call.complaints, settings, folder, "")

    return run(tell=tell, say_up=say_up)


def _in_background(
    call: Invocation, settings: Settings, folder: Path, run: Callable[..., Result]
) -> Result:
    """Run everything in another process; this one returns once it is up."""
    from orchestrator.embedded.background import Foreground, split
    from orchestrator.embedded.folder import refuse_held

    refuse_held(folder)
    part = split(folder / "logs" / "up.log")
    if not isinstance(part, Foreground):
        call.console, call.complaints = Terminal(), Terminal(stderr=True)  # they write to the log
        try:
            return run(tell=_logging(settings), say_up=part.tell_up)
        except ReplanError as error:
            if part.tell_failure(error):
                raise SystemExit(code_of(error)) from error  # it is shown where `up` was typed
            raise
    part.await_up()

    def show(console: Console) -> None:
        _show_up(console, settings, folder, f" in the background (process {part.pid})")
        again = f"{finding(settings, folder)}{program()}"
        next_step(console, ShellCommand(f"{again} logs --follow"))
        next_step(console, ShellCommand(f"{again} down"))

    return Result("up", {"data_dir": str(folder), "pid": part.pid}, show)


def _show_up(console: Console, settings: Settings, folder: Path, where: str) -> None:
    console.print(f"[green]up[/]{where}; data in {plain(folder)}, logs in {plain(folder)}/logs")
    missing = missing_key_of(settings.server)
    if missing:
        console.print(f"[dim]{missing}: tasks that a model plans wait for a key[/]")
    submit = f"task submit --plan {example_plan('hello.yaml', anywhere=True)} --local --wait"
    next_step(console, ShellCommand(f"{finding(settings, folder)}{program()} {submit}"))


def _logging(settings: Settings) -> "Callable[[ChildEvent], None]":
    """What logs the events of processes, as those log their own."""
    import structlog

    from shared.logs import configure_logs

    configure_logs(settings.server.log_level)
    log = structlog.get_logger()

    def tell(event: "ChildEvent") -> None:
        detail = {"detail": event.detail} if event.detail else {}
        log.info(_EVENTS[event.kind], process=event.name, pid=event.pid, **detail)

    return tell


def _run(
    call: Invocation,
    settings: Settings,
    folder: Path,
    executors: int,
    *,
    tell: "Callable[[ChildEvent], None]",
    say_up: Callable[[], None],
) -> Result:
    """Run everything until a signal asks for the end."""
    from orchestrator.embedded.stack import run_stack

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    gateway = settings.server.gateway_url if settings.is_given("gateway_url") else ""
    environ = dict(call.environ)
    if call.config_file is not None:
        environ["REPLAN_CONFIG"] = str(call.config_file.absolute())
    stack = run_stack(
        folder,
        environ,
        existing=_existing(settings),
        executors=executors,
        gateway=gateway,
        on_event=tell,
    )
    with stack as running:
        RunningElsewhere(usual_data_dir(call.environ)).note(folder)
        say_up()
        while not stop.wait(_LOOK_EVERY):
            running.supervisor.check()
    return Result("up", {"data_dir": str(folder)}, lambda console: console.print("down"))


def _ignore_closed_terminal() -> AbstractContextManager[None]:
    """For what is printed while the stack runs: nobody has to read it."""
    return suppress(OSError, SystemExit)


def program() -> str:
    """How to call this program from any folder: by its name or its path."""
    return "replan" if shutil.which("replan") else shlex.quote(str(Path(sys.argv[0]).absolute()))


def finding(settings: Settings, folder: Path) -> str:
    """The prefix that lets a command in another terminal find what runs in a folder.

    It is empty where that command looks there by default.
    """
    usual = not settings.is_given("data_dir")
    if usual and folder.absolute() == settings.server.data_dir.absolute():
        return ""
    return f"REPLAN_DATA_DIR={shlex.quote(str(folder.absolute()))} "


def _existing(settings: Settings) -> tuple[str, str] | None:
    """The servers from the environment or a settings file, if both are named."""
    if not all(map(settings.is_given, ("database_url", "broker_url"))):
        return None
    return settings.server.database_url, settings.server.broker_url


def _offer_removal(console: Console, folder: Path) -> None:
    console.print("To remove all of it:")
    next_step(console, ShellCommand(f"rm -r {shlex.quote(str(folder))}"))


def demo(
    call: Invocation,
    *,
    planner: Annotated[
        str | None,
        typer.Option(help="The planner: runbook, or a provider of models such as anthropic."),
    ] = None,
    agents: Annotated[
        bool,
        typer.Option("--agents", help="Watch Claude Code work in a repository, on a script."),
    ] = False,
    project: Annotated[
        bool,
        typer.Option("--project", help="Watch a goal become published work, on a script."),
    ] = False,
) -> Result:
    """Watch replan work on this machine: it starts a service although the port is taken.

    Real commands in a scratch folder, without root, key or network. Nothing is left running.
    With --agents, Claude Code writes a program that commands on this machine then use. With
    --project, a goal is planned, developed, reviewed and published.
    """
    from orchestrator.acts.caller import Caller
    from orchestrator.acts.watch import watch
    from orchestrator.cli.answers import Demonstration
    from orchestrator.cli.follow import print_message, telling
    from orchestrator.cli.recap_table import show_recap
    from orchestrator.views.projects import project_view
    from orchestrator.views.recap import recap
    from orchestrator.views.report import report
    from orchestrator.words.projects import completion_report
    from orchestrator.words.proofs import summary
    from orchestrator.words.report import counts, markdown

    stage_in = _stage(call, planner, agents=agents, project=project)
    folder = Path(tempfile.mkdtemp(prefix="replan-demo-"))
    say = call.complaints.print if not call.human else call.console.print
    beside = ", two workers and a model gateway" if agents or project else " and two workers"
    say(f"starting Postgres, Valkey, a coordinator{beside} in {plain(folder)} …")
    with stage_in(folder) as stage:
        say("\n".join(map(plain, stage.opening)) + "\n")
        with stage.database() as database:
            caller = Caller.of_account(call.settings, database)
            ref = stage.submit(caller)
            view = watch(
                caller,
                ref,
                telling(
                    lambda message: print_message(call.console, message) if call.human else None
                ),
            )
            with caller.reading("task.report") as connection:
                compiled = report(connection, ref)
                managed = project_view(connection, ref) if project else None
                came = recap(connection, view)
    told = markdown(compiled) if managed is None else completion_report(managed)
    (folder / "report.md").write_text(told + "\n", encoding="utf-8")

    look = ShellCommand(f"less {folder}/report.md")

    def show(console: Console) -> None:
        console.print()
        if managed is None:
            show_recap(console, came)
            console.print(counts(compiled), highlight=False)
            if compiled.proofs:
                console.print(summary(compiled.proofs), highlight=False)
        else:
            show_markdown(console, told)
        console.print(
            f"\n[bold]{ref}[/] is {in_colour(view.phase)}. Nothing is left running. To look again:"
        )
        next_step(console, look)
        data = folder / "data"
        next_step(console, ShellCommand(f"{program()} up --data-dir {shlex.quote(str(data))}"))
        again = f"{finding(call.settings, data)}{program()}"
        next_step(console, ShellCommand(f"{again} task report {ref}"))
        if managed is not None:
            next_step(console, ShellCommand(f"{again} project status {ref}"))
        for each in stage.attempts:
            next_step(console, ShellCommand(f"{again} attempt show {ref}{each}"))
        _offer_removal(console, folder)

    done = view.phase == TaskPhase.DONE
    return Result(
        "demo",
        Demonstration(ref, view.phase, str(folder), compiled, managed),
        show,
        exit_code=ExitCode.DONE if done else ExitCode.FAILED,
        stage=None if done else "demo",
        reason=None if done else view.reason or view.phase,
        next_step=look,
    )


def _stage(
    call: Invocation, planner: str | None, *, agents: bool, project: bool
) -> Callable[[Path], AbstractContextManager["Stage"]]:
    """What sets the stage of the demonstration in a folder.

    Raises Rejected for a bad planner, and Misconfigured for one that cannot be asked.
    """
    if agents or project:
        from orchestrator.embedded import agents_demo, project_demo

        if planner is not None or (agents and project):
            raise Rejected(
                "the demos with --agents and --project have a planner of their own: use one of "
                "them, and leave --planner out",
                stage="input",
                next_step=NextStep.of("demo", agents=True)
                if agents
                else NextStep.of("demo", project=True),
            )
        agents_demo.require_programs(call.environ)
        if project:
            return lambda folder: project_demo.set_stage(folder, call.environ)
        return lambda folder: agents_demo.set_stage(folder, call.environ)
    from orchestrator.embedded import demo as service_demo
    from orchestrator.probes.models import check_model

    chosen = planner or "runbook"
    if chosen not in (allowed := ("runbook", *MODEL_PROVIDERS)):
        raise Rejected(
            f"{chosen!r} is not a valid planner for the demo; use {', '.join(allowed)}",
            stage="input",
            next_step=NextStep.of("demo"),
        )
    if chosen in MODEL_PROVIDERS:
        check_model(chosen, call.environ)
    return lambda folder: service_demo.set_stage(folder, call.environ, chosen)
