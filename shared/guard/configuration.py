"""Changes of configuration that a policy allows: what they put there is read, and may be undone.

A file below a declared folder may be changed by a plan that keeps a copy of it, or says how to
undo the change, and runs the service's own test itself. Files of which every line says what it does
(jobs of cron, units, rotation, settings of the kernel) need neither: they are judged line by line.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from shared.guard.findings import Findings
from shared.guard.paths import canonical
from shared.guard.policy.configuration_texts import ADDED_TO, LANGUAGES, LOG, Reading, edit
from shared.guard.policy.configured import Change, Configured, Configuring
from shared.guard.programs.inline_code import option_values
from shared.guard.shell.written_files import operands
from shared.guard.words import Run, Word

_WRITERS = frozenset({"", "tee"})
_COPIERS = frozenset({"cp", "mv", "rm", "unlink", "install"})
_SED_SCRIPT = ("e", ("expression",))


@dataclass(frozen=True, slots=True)
class Inner:
    """A command inside a text of configuration: `why` it may not run (empty: it may).

    `runs_code` says that it runs what lies in a folder of a project. `commands` are those of a
    whole text.
    """

    why: str = ""
    runs_code: bool = False
    commands: tuple[str, ...] = ()


Allows = Callable[[str], Inner]


def configuring(
    findings: Findings, declared: tuple[Configured, ...], allows: Allows
) -> Configuring:
    """What the runs of a command do to the files below the declared folders."""
    if not declared:
        return Configuring()
    kept, ran = frozenset(_kept(findings.runs)), tuple(_texts(findings.runs))
    writers: dict[str, list[Run]] = {}
    for run in findings.runs:
        for word in run.writes:
            path = _path(word, run)
            if path is not None:
                writers.setdefault(path, []).append(run)
    placed, refused, changes, code = set(), {}, [], ""
    commands: list[str] = []
    for path, runs in writers.items():
        place = next((each for each in declared if each.holds(path)), None)
        if place is None:
            continue
        inner = _judge(path, place, runs, findings, allows)
        if inner.why:
            refused[path] = inner.why
            continue
        placed.add(path)
        commands += inner.commands
        code = code or (path if inner.runs_code else "")
        if place.tests:
            changes.append(Change(path, place.tests))
    removed = frozenset(_removed(findings.runs, declared))
    return Configuring(
        frozenset(placed), refused, tuple(changes), kept, ran, code, removed, tuple(commands)
    )


def _judge(
    path: str, place: Configured, runs: list[Run], findings: Findings, allows: Allows
) -> Inner:
    """Why a file may not be changed so."""
    texts = [each for each in findings.written if each.path == path]
    writes = [run for run in runs if run.program in _WRITERS]
    edits = [run for run in runs if run.program == "sed"]
    if place.language == LOG and len(writes) == len(runs):
        return Inner()
    if len(runs) != len(texts) or len(writes) + len(edits) != len(runs):
        return Inner(f"what is written to {path} is not known")
    known = [each for each in texts if each.content.literal is not None]
    if len(known) != len(writes):
        return Inner(f"what is written to {path} is known only when it runs")
    language = LANGUAGES[place.language]
    if place.language in ADDED_TO and (edits or not all(each.append for each in texts)):
        return Inner(f"what {path} holds would be changed: only lines may be added")
    readings: list[Reading] = []
    for each in known:
        text = each.content.literal or ""
        if each.append and not place.fragments:
            return Inner(f"{path} is added to, and what it holds is not known")
        readings.append(language(text))
    for run in edits:
        scripts = _scripts(run)
        if scripts is None or not place.fragments:
            return Inner(f"the edit of {path} is not known to do no harm")
        readings += [edit(script, language) for script in scripts]
    return _judge_readings(path, readings, allows)


def _judge_readings(path: str, readings: list[Reading], allows: Allows) -> Inner:
    runs_code = False
    for reading in readings:
        if reading.why:
            return Inner(f"{path}: {reading.why}")
        for command in reading.commands:
            inner = allows(command)
            if reading.as_root and inner.runs_code:
                return Inner(f"{path} would run what lies in a project as root: {command[:60]}")
            if inner.why:
                return Inner(f"{path} would run `{command[:60]}`: {inner.why}")
            runs_code = runs_code or inner.runs_code
    return Inner("", runs_code, tuple(each for reading in readings for each in reading.commands))


def _scripts(run: Run) -> list[str] | None:
    words = run.argv[1:]
    given = list(option_values(words, *_SED_SCRIPT)) or operands(words)[:1]
    texts = [word.literal for word in given]
    known = [text for text in texts if text is not None]
    return known if known and len(known) == len(texts) else None


def _path(word: Word, run: Run) -> str | None:
    paths = {canonical(word, directory).literal for directory in run.directories}
    return paths.pop() if len(paths) == 1 else None


def _kept(runs: Iterable[Run]) -> Iterator[str]:
    """Files of which a copy is made, and those that a command would put back or take away."""
    for run in runs:
        words = operands(run.argv[1:]) if run.argv else []
        if run.program in _COPIERS or (
            run.program == "sed" and any(_keeps(word) for word in run.argv[1:])
        ):
            yield from (path for word in words if (path := _path(word, run)) is not None)


def _removed(runs: list[Run], declared: tuple[Configured, ...]) -> Iterator[str]:
    """The declared files that `rm` or `unlink` takes away, if nothing else is done."""
    if any(run.program not in ("rm", "unlink") or run.writes or run.reads for run in runs):
        return
    for run in runs:
        words = run.argv[1:]
        paths = [_path(word, run) or "" for word in operands(words)]
        plain = all(word.literal in ("-f", "-v") for word in words if word.prefix[:1] == "-")
        if not plain or not all(any(each.holds(path) for each in declared) for path in paths):
            return
    yield from (_path(word, run) or "" for run in runs for word in operands(run.argv[1:]))


def _keeps(word: Word) -> bool:
    text = word.prefix
    return text.startswith(("-i.", "-i~", "--in-place=."))


def _texts(runs: Iterable[Run]) -> Iterator[str]:
    for run in runs:
        words = [word.literal for word in run.argv]
        if run.argv and None not in words:
            yield " ".join(word or "" for word in words)
