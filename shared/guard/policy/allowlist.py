"""Compares everything that a text would run with all that a policy allows."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from shared.guard.findings import FORK_BOMB, Doubt
from shared.guard.globs import Match
from shared.guard.paths import START, Places
from shared.guard.policy.allowance import Allowance, Held
from shared.guard.policy.configured import Configuring
from shared.guard.policy.ground import Ground
from shared.guard.policy.links import strange_link
from shared.guard.policy.misfit import Misfit, cause
from shared.guard.policy.named import holds_anything
from shared.guard.policy.operands import REST, kind_of, no_writing
from shared.guard.policy.project_programs import (
    names_of_program,
    script_of,
    strange_program,
    strange_script,
    strange_words,
)
from shared.guard.policy.rules import PathPattern
from shared.guard.policy.searches import strange_search
from shared.guard.policy.territory import Territory
from shared.guard.programs.plain_questions import asks
from shared.guard.programs.runners import WRITES_NOTHING, is_data
from shared.guard.programs.sql import PROGRAM
from shared.guard.shell.written_files import downloads
from shared.guard.words import HOME, Run, Text, Word, literal_word

_CHANGES_NOTHING = Configuring()
_NO_PROGRAMS = frozenset({FORK_BOMB, PROGRAM})
_LIKE_PATH = re.compile(r"^[^-\s][^\s]*/|^[/.]|^[\w-]+\.\w+$|^id_\w+$")
OF_A_PROJECT = "@project"
"""In the place of a program: any that lies below a declared project."""
_CASELESS = frozenset({"redis-cli", "valkey-cli", "keydb-cli"})

_WHATEVER = Word((Text("code"),))


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the list says about one run: the allowance that covers it, or why none does."""

    run: Run
    allowance: Allowance | None
    doubt: Doubt | None
    held: tuple[Held, ...] = ()

    @property
    def runs_code(self) -> bool:
        """True when the run executes code from a directory of the host."""
        return self.allowance is not None and self.allowance.runs_code

    @property
    def shows(self) -> bool:
        """True when the run puts out the bytes of a file as they are."""
        return self.allowance is not None and any(
            slot.kind == "shown" for slot in self.allowance.slots
        )


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
        self._of_projects: list[Allowance] = []
        for allowance in allowances:
            if allowance.run[0] == OF_A_PROJECT:
                self._of_projects.append(allowance)
            elif "/" in allowance.run[0]:
                self._by_path.append((PathPattern(allowance.run[0]), allowance))
            else:
                self._by_program.setdefault(allowance.run[0], []).append(allowance)

    def coverage(
        self, runs: Iterable[Run], changing: Configuring = _CHANGES_NOTHING
    ) -> Iterator[Coverage]:
        """One for every run; what is `changing` of the configuration was read."""
        found = [self._cover(run, changing) for run in runs]
        code = next((covered.run.part for covered in found if covered.runs_code), None)
        reads = any(covered.run.reads for covered in found)
        shows = reads and any(covered.shows for covered in found)
        for covered in found:
            if shows and (hidden := next(filter(holds_anything, covered.run.reads), None)):
                told = f"it shows what is in {hidden}, which may hold anything, secrets too"
                yield Coverage(covered.run, None, Doubt("secret-file", told, covered.run.part))
            elif code is not None and covered.doubt is None and self._brings(covered, changing):
                told = f"it runs code from there ({code}) and writes there as well"
                yield Coverage(covered.run, None, Doubt("written-script", told, covered.run.part))
            else:
                yield covered

    def consumes(self, run: Run, way: str) -> bool:
        """Whether a rule that covers the run says that it consumes a secret in that way."""
        ground = Ground(self._territory, run.directories, self._variables)
        return any(
            any(fnmatchcase(way, listed) for listed in allowance.consumes)
            and allowance.misfit(run.argv[1:], ground) is None
            for allowance in self._candidates(run)
        )

    def misplaced(self, kind: str, path: str) -> str | None:
        """Why a place is not allowed as that kind of operand; None if it is."""
        holds = kind_of(kind)
        ground = Ground(self._territory, (START,), self._variables)
        word = literal_word(path.replace("~", HOME, 1) if path.startswith("~") else path)
        return "it is not known" if holds is None or "*" in path else holds(word, ground)

    def writes_code(
        self, covered: Iterable[Coverage], changing: Configuring = _CHANGES_NOTHING
    ) -> bool:
        """True when later commands may run what these runs write."""
        return any(self._brings(each, changing) for each in covered)

    def _brings(self, covered: Coverage, changing: Configuring) -> bool:
        """True when a run writes to a place from which code is run, or may do anything."""
        if covered.doubt is not None and covered.run.program not in WRITES_NOTHING:
            return True
        if covered.allowance is not None and covered.allowance.brings:
            return True
        here = covered.run.directories
        read = set(changing.placed)
        if covered.allowance and covered.allowance.elsewhere:
            read |= {str(word) for word in covered.run.argv}
        return any(
            str(word) not in read
            and not is_data(str(word))
            and not str(word).startswith("/dev/")
            and not self._is_apart(word, here)
            for word in covered.run.writes
        )

    def _is_apart(self, word: Word, here: tuple[Word, ...]) -> bool:
        """True when no code is run from there, as in /tmp."""
        why = self._territory.no_write(word, here)
        return why is None and all(
            self._territory.no_code(word, (directory,)) is not None for directory in here
        )

    def names_secret(self, runs: Iterable[Run]) -> bool:
        """True when a run names a file, in so many words, that is or may hold a secret."""
        return any(
            self._territory.secret_in(word, run.directories) is not None
            for run in runs
            for word in (*run.argv[1:], *run.reads)
            if word.literal is not None and (word in run.reads or _LIKE_PATH.search(word.literal))
        )

    def _cover(self, run: Run, changing: Configuring) -> Coverage:
        ground = Ground(self._territory, run.directories, self._variables, run.given, changing)
        doubt = self._by_the_shell(run, ground, run.writes)
        if not run.argv or run.program in _NO_PROGRAMS:
            return Coverage(run, None, doubt)
        if doubt is None:
            return self._program(run, ground)
        covered = self._program(run, ground)
        if covered.allowance is None or not covered.allowance.elsewhere:
            return Coverage(run, None, doubt)
        named = {str(word) for word in run.argv}
        others = tuple(word for word in run.writes if str(word) not in named)
        doubt = self._by_the_shell(run, ground, others)
        return covered if doubt is None else Coverage(run, None, doubt)

    def _by_the_shell(self, run: Run, ground: Ground, writes: tuple[Word, ...]) -> Doubt | None:
        """What a run writes, reads and sets besides its arguments."""
        words = (*writes, *(downloads(run.program, run.argv[1:]) if run.argv else ()))
        for word in words:
            if str(word) != "-" and (why := no_writing(word, ground)):
                return Doubt("unlisted-place", why, run.part)
        if why := self._replaced_secret(run):
            return Doubt("secret-file", why, run.part)
        for word in run.reads:
            if why := self._territory.secret_in(word, run.directories):
                return Doubt("secret-file", why, run.part)
            if why := self._territory.no_read(word, run.directories):
                return Doubt("unlisted-place", why, run.part)
        for name in run.sets:
            if not ground.variables.fullmatch(name):
                why = f"it sets {name} for a program, and no rule lists that variable"
                return Doubt("environment", why, run.part)
        return None

    def _replaced_secret(self, run: Run) -> str | None:
        """Why a text may not come in the place of a secret; a dump is made anew."""
        for word in run.writes if not run.argv or run.program == "tee" else ():
            made_anew = word.literal is None or holds_anything(word)
            why = None if made_anew else self._territory.secret_in(word, run.directories)
            if why:
                return f"{why}, and would be replaced"
        return None

    def _program(self, run: Run, ground: Ground) -> Coverage:
        candidates = self._candidates(run)
        if not candidates:
            told = f"no rule lists the program {run.argv[0]}"
            return Coverage(run, None, Doubt("unlisted-program", told, run.part))
        why = strange_search(run, self._territory)
        placed = (each for each in candidates if why and each.elsewhere)
        if why and all(each.misfit(run.argv[1:], ground) is not None for each in placed):
            return Coverage(run, None, Doubt("unlisted-use", f"find: {why}", run.part))
        misfits: list[Misfit] = []
        # A rule whose sub-command is not there cannot cover the run: it only tells the reason.
        listed = _as_listed(run)
        given = {word.literal for word in listed.argv[1:]}
        later = []
        for allowance in candidates:
            if not allowance.directories and not given.issuperset(allowance.run[1:]):
                later.append(allowance)
                continue
            held, misfit = self._compare(listed, allowance, ground)
            if misfit is None:
                doubt = self._strange_code(run, allowance) or strange_link(run, held, ground)
                return Coverage(run, allowance, doubt, held)
            misfits.append(misfit)
        for each in _telling(later, listed.argv[1:]):
            _, misfit = self._compare(listed, each, ground)
            misfits += [] if misfit is None else [misfit]
        return Coverage(run, None, Doubt("unlisted-use", cause(run.program, misfits), run.part))

    def _compare(
        self, run: Run, allowance: Allowance, ground: Ground
    ) -> tuple[tuple[Held, ...], Misfit | None]:
        held, misfit = allowance.compare(run.argv[1:], ground)
        misfit = misfit or _input_misfit(allowance, run)
        if misfit is None and (why := self._strange_project(run, allowance, ground)):
            misfit = Misfit(why)
        return held, misfit

    def _strange_code(self, run: Run, allowance: Allowance) -> Doubt | None:
        """Why code in a run's directory may not be run; None if it runs none."""
        if not allowance.runs_code and not _loads_from_directory(run):
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
        found = [
            allowance
            for path, allowance in self._by_path
            if all(path.match(run.argv[0], (at,), places) is Match.YES for at in run.directories)
        ]
        return found or self._candidates_in_project(run, program)

    def _candidates_in_project(self, run: Run, program: str) -> list[Allowance]:
        """The rules for a program below a declared project: those of its name, if it has any."""
        if not self._of_projects or self._territory.no_program(run.argv[0], run.directories):
            return []
        for name in names_of_program(program):
            if name in self._by_program:
                return [replace(each, runs_code=True) for each in self._by_program[name]]
        return self._of_projects

    def _strange_project(self, run: Run, allowance: Allowance, ground: Ground) -> str | None:
        """Why a program or a script of a project may not be run like this, or None."""
        if allowance.run[0] == OF_A_PROJECT:
            words = run.argv[1:]
            return strange_program(run.argv[0], words) or strange_words(words, ground)
        given = script_of(run) if allowance.slots and allowance.slots[-1].kind == REST else None
        if given is None:
            return None
        script, words = given
        name = str(script).rpartition("/")[2]
        if name not in self._by_program:
            return strange_script(script) or strange_words(words, ground)
        misfits = [each.misfit(words, ground) for each in self._by_program[name]]
        return None if None in misfits else f"{name}: {misfits[0]}"


def _telling(allowances: list[Allowance], words: tuple[Word, ...]) -> Iterator[Allowance]:
    """Those of rules for other sub-commands that tell different reasons.

    Before the first sub-command, only the options of the program itself count.
    """
    first = words[0].literal if words else None
    plain = first is not None and first[:1] not in ("", "-", "+")
    given = {word.literal for word in words}
    told = set()
    for each in allowances:
        if each.run[1] not in given:
            at_once = plain and not (each.words or each.bundle or each.shell)
            how = (id(each.before), each.words, each.bundle, each.shell, each.loose)
            key = () if at_once else how
            if key in told:
                continue
            told.add(key)
        yield each


def _as_listed(run: Run) -> Run:
    """The run with its words as rules list them, where a program takes both cases alike."""
    if run.program not in _CASELESS:
        return run
    words = (
        literal_word(word.literal.lower()) if word.literal and word.literal.isupper() else word
        for word in run.argv[1:]
    )
    return replace(run, argv=(run.argv[0], *words))


def _loads_from_directory(run: Run) -> bool:
    """Whether what lies in its directory steers a run, whatever it is asked for.

    The settings of a repository and of a toolchain may name programs, and Python looks for a
    module in its directory before it looks among its own.
    """
    match run.program:
        case "git" | "cargo":
            return True
        case "python" | "python3":
            return any(word.literal == "-m" for word in run.argv[1:])
        case _:
            return False


def _input_misfit(allowance: Allowance, run: Run) -> Misfit | None:
    if allowance.asks_input and not asks(run):
        return Misfit("what it sends is not a plain question")
    if not allowance.idle_input or run.idle_input:
        return None
    return Misfit("it would send on what it reads: give it `</dev/null`")
