"""Compares everything that a text would run with all that a policy allows."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shared.guard.findings import FORK_BOMB, Doubt
from shared.guard.globs import Match
from shared.guard.paths import Places
from shared.guard.policy.allowance import Allowance, Misfit, OtherSubCommand
from shared.guard.policy.operands import Ground
from shared.guard.policy.rules import PathPattern
from shared.guard.policy.territory import Territory
from shared.guard.programs.sql import PROGRAM
from shared.guard.shell.written_files import downloads
from shared.guard.words import Run, Text, Word

_NO_PROGRAMS = frozenset({FORK_BOMB, PROGRAM})
_WHATEVER = Word((Text("code"),))
_HARMLESS_OUTPUT = re.compile(r"(?i).*\.(log|txt|out|err|html|csv|pid|md)|/dev/.*")


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the list says about one run: the allowance that covers it, or why none does."""

    run: Run
    allowance: Allowance | None
    doubt: Doubt | None

    @property
    def runs_code(self) -> bool:
        """True when the run executes code from a directory of the host."""
        return self.allowance is not None and self.allowance.runs_code


class AllowList:
    """The allowances of one policy."""

    def __init__(
        self,
        allowances: Iterable[Allowance],
        territory: Territory,
        variables: Iterable[str],
        directories: Iterable[str],
    ) -> None:
        self._territory = territory
        self._directories = frozenset(directories)
        patterns = (re.escape(name).replace(r"\*", r"\w*") for name in variables)
        self._variables = re.compile("|".join(patterns) or "(?!)")
        self._by_program: dict[str, list[Allowance]] = {}
        self._by_path: list[tuple[PathPattern, Allowance]] = []
        for allowance in allowances:
            if "/" in allowance.run[0]:
                self._by_path.append((PathPattern(allowance.run[0]), allowance))
            else:
                self._by_program.setdefault(allowance.run[0], []).append(allowance)

    def coverage(self, runs: Iterable[Run]) -> Iterator[Coverage]:
        """One for every run."""
        found = [self._cover(run) for run in runs]
        code = next((covered.run.part for covered in found if covered.runs_code), None)
        for covered in found:
            if code is not None and covered.doubt is None and self._brings(covered):
                told = f"it runs code from there ({code}) and writes there as well"
                yield Coverage(covered.run, None, Doubt("written-script", told, covered.run.part))
            else:
                yield covered

    def writes_code(self, covered: Iterable[Coverage]) -> bool:
        """True when later commands may run what these runs write."""
        return any(map(self._brings, covered))

    def _brings(self, covered: Coverage) -> bool:
        """True when a run writes to a place from which code is run, or may do anything."""
        if covered.doubt is not None or (covered.allowance and covered.allowance.brings):
            return True
        here = covered.run.directories
        return any(
            not _HARMLESS_OUTPUT.fullmatch(str(word)) and not self._is_apart(word, here)
            for word in covered.run.writes
        )

    def _is_apart(self, word: Word, here: tuple[Word, ...]) -> bool:
        """True when no code is run from there, as in /tmp."""
        why = self._territory.no_write(word, here)
        return why is None and all(
            self._territory.no_code(word, (directory,)) is not None for directory in here
        )

    def _cover(self, run: Run) -> Coverage:
        ground = Ground(self._territory, run.directories, self._variables)
        doubt = self._by_the_shell(run, ground)
        if doubt is not None or not run.argv or run.program in _NO_PROGRAMS:
            return Coverage(run, None, doubt)
        return self._program(run, ground)

    def _by_the_shell(self, run: Run, ground: Ground) -> Doubt | None:
        """What a run writes, reads and sets besides its arguments."""
        words = (*run.writes, *(downloads(run.program, run.argv[1:]) if run.argv else ()))
        for word in words:
            if str(word) != "-" and (why := self._territory.no_write(word, run.directories)):
                return Doubt("unlisted-place", why, run.part)
        for word in run.reads:
            if why := self._territory.no_read(word, run.directories):
                return Doubt("secret-file", why, run.part)
        for name in run.sets:
            if not ground.variables.fullmatch(name):
                why = f"it sets {name} for a program, and no rule lists that variable"
                return Doubt("environment", why, run.part)
        return None

    def _program(self, run: Run, ground: Ground) -> Coverage:
        candidates = self._candidates(run)
        if not candidates:
            told = f"no rule lists the program {run.argv[0]}"
            return Coverage(run, None, Doubt("unlisted-program", told, run.part))
        best: Misfit | None = None
        for allowance in candidates:
            misfit = allowance.misfit(run.argv[1:], ground)
            if misfit is None:
                return Coverage(run, allowance, self._strange_code(run, allowance))
            if best is None or isinstance(best, OtherSubCommand):
                best = misfit  # of the same sub-command, it tells more
        if isinstance(best, OtherSubCommand):
            shown = " ".join(map(str, run.argv[:3]))
            return Coverage(run, None, Doubt("unlisted-use", f"no rule lists `{shown}`", run.part))
        return Coverage(run, None, Doubt("unlisted-use", f"{run.program}: {best}", run.part))

    def _strange_code(self, run: Run, allowance: Allowance) -> Doubt | None:
        """Why code in a run's directory may not be run; None if it runs none."""
        if not allowance.runs_code:
            return None
        for directory in run.directories:
            if why := self._territory.no_code(_WHATEVER, (directory,)):
                return Doubt("unlisted-place", f"it runs code from there: {why}", run.part)
        return None

    def _candidates(self, run: Run) -> list[Allowance]:
        name = run.argv[0].literal
        if name is None:
            return []
        directory, slash, program = name.rpartition("/")
        if not slash or directory in self._directories:
            found = self._by_program.get(program, [])
            if found or not slash:
                return found
        places = Places()
        return [
            allowance
            for path, allowance in self._by_path
            if all(path.match(run.argv[0], (at,), places) is Match.YES for at in run.directories)
        ]
