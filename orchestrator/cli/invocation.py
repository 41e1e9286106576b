"""A call of the command line: its settings, its output, and the one place that catches errors."""

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.passphrase import TerminalPassphrases
from orchestrator.cli.reply import Format, Result, of_error, write
from orchestrator.cli.terminal import Terminal
from shared.domain.errors import Defect, Rejected, ReplanError
from shared.domain.exits import ExitCode
from shared.settings import Settings, load_settings

if TYPE_CHECKING:  # SQLAlchemy loads only when a command needs the database: `--help` is quick
    from orchestrator.acts.caller import Caller, Reading

FORMAT = typer.Option("--format", help="human, min-json (one object) or jsonl (one per line).")
CONFIG = typer.Option("--config", help="Settings file instead of replan.toml.", metavar="FILE")


@dataclass
class Invocation:
    """What every command may use; settings are read, and the database opened, when needed.

    `verb` is the command's: `task.cancel`.
    """

    output: Format
    config_file: Path | None
    console: Console = field(default_factory=lambda: Terminal(soft_wrap=True))
    complaints: Console = field(default_factory=lambda: Terminal(stderr=True, soft_wrap=True))
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    verb: str = "replan"

    @property
    def human(self) -> bool:
        """True when a person reads the output."""
        return self.output is Format.HUMAN

    @cached_property
    def settings(self) -> Settings:
        """The settings of this call. Raises Misconfigured."""
        return load_settings(self.environ, self.config_file)

    @cached_property
    def caller(self) -> "Caller":
        """Who calls: the account that runs this command line."""
        from orchestrator.acts.caller import Caller

        return Caller.of_account(self.settings, passphrases=TerminalPassphrases())

    def reading(self) -> "Reading":
        """A transaction for the views of this command."""
        return self.caller.reading(self.verb)


Command = Callable[..., Result]


def add(group: typer.Typer, name: str, *, example: str) -> Callable[[Command], Command]:
    """Register a command under a name, with the options of every command.

    The function takes the Invocation first; its docstring is the help, with `example` below it.
    """

    def register(function: Command) -> Command:
        signature = inspect.signature(function)
        own = list(signature.parameters.values())[1:]
        shared = [
            _keyword("output", Annotated[Format, FORMAT], Format.HUMAN),
            _keyword("config_file", Annotated[Path | None, CONFIG], None),
        ]
        kind = name if group.info.name in {None, "replan"} else f"{group.info.name}.{name}"

        def run(**values: Any) -> None:
            call = Invocation(values.pop("output"), values.pop("config_file"), verb=kind)

            def act() -> Result:
                _check_text(values)
                return function(call, **values)

            raise typer.Exit(answer(call, kind, act))

        run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
        run.__doc__ = function.__doc__
        group.command(name, epilog=f"Example:  {example}", no_args_is_help=False)(run)
        return function

    return register


def answer(call: Invocation, kind: str, act: Callable[[], Result]) -> int:
    """Run a command and write its answer; returns the exit code. No exception escapes."""
    try:
        result = act()
    except ReplanError as error:
        with _with_traceback(call.environ, isinstance(error, Defect)):
            result = of_error(kind, error)
    except KeyboardInterrupt:
        call.complaints.print("interrupted")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return int(ExitCode.DONE)
    except Exception as error:  # noqa: BLE001 - people never see a traceback
        with _with_traceback(call.environ):
            result = of_error(kind, _defect(error))
    write(result, call.output, call.console, call.complaints)
    return int(result.exit_code)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _defect(error: Exception) -> Defect:
    return Defect(f"this is a defect of replan: {type(error).__name__}: {error}", stage="cli")


def _check_text(values: Mapping[str, Any]) -> None:
    """Raise Rejected for input that Postgres cannot store: NUL, or half a character."""
    for value in values.values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and ("\0" in text or not _is_utf8(text)):
                raise Rejected(
                    f"{text!r} is not valid text: it contains NUL or is not UTF-8", stage="input"
                )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def _with_traceback(environ: dict[str, str], wanted: bool = True) -> Iterator[None]:
    if wanted and environ.get("REPLAN_TRACEBACK"):
        import traceback

        traceback.print_exc()
    yield
