"""Where a secret's value may appear: never in an argument or in a file on the host (X19).

`${secret:NAME}` reaches the guard as `"${REPLAN_SECRET_NAME}"`, a variable that the command's
environment carries. What it holds is never looked at.
"""

from collections.abc import Iterable, Iterator

from shared.domain.secret import VARIABLE
from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.words import Hole, Run, Word

_PRINTS = frozenset({"echo", "printf"})
_NO_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_OF_THE_SHELL = _PRINTS | {"test", "[", "export", "readonly", "local", "set", "read", "eval", ":"}


def secret_in(words: Iterable[Word]) -> str:
    """The name of a secret whose value is a part of one of the words; empty when none is."""
    for word in words:
        for piece in word.pieces:
            if isinstance(piece, Hole):
                name = piece.secret or _printed_secret(piece)
                if name:
                    return name
    return ""


def _printed_secret(piece: Hole) -> str:
    """The secret that `$(printf '%s' "$SECRET")` puts out, and nothing but prints it."""
    if not piece.makers or any(maker.program not in _PRINTS for maker in piece.makers):
        return ""
    return next((found for m in piece.makers if (found := secret_in(m.argv))), "")


def _derived_secret(words: Iterable[Word]) -> str:
    """A secret that the words may have been made from."""
    makers = (maker for word in words for maker in word.makers)
    return next((found for maker in makers if (found := secret_in(maker.argv))), "")


def breaches(runs: list[Run]) -> Iterator[Verdict]:
    """A verdict for each place at which a secret would be seen by others, or may be."""
    fed = {feeder for run in runs for feeder in run.feeders}
    for run in runs:
        name = secret_in(run.argv)
        if name:
            yield from _in_words(run, name, fed)
        elif name := _derived_secret(run.argv):
            told = f"it may show the secret {_spell(name)} in its arguments"
            yield Verdict(VerdictKind.APPROVE, "secret-derived", told, run.part)
        if run.writes and (name := next(filter(None, map(_of_feeder, run.feeders)), "")):
            yield in_file(name, run.part)


def spill(content: Word, makers: Iterable[Run], paths: Iterable[Word]) -> str:
    """The secret that a redirection would leave in one of the files; empty when it leaves none."""
    if all(str(path) in _NO_FILES for path in paths):
        return ""
    return secret_in((content, *(word for maker in makers for word in maker.argv)))


def in_file(name: str, part: str) -> Verdict:
    """The verdict on a secret that would be written to a file."""
    told = (
        f"it would leave the secret {_spell(name)} in a file on the host: "
        f"hand it over on standard input, `printf '%s' \"{_spell(name)}\" | program`"
    )
    return Verdict(VerdictKind.DENY, "secret-in-file", told, part)


def _of_feeder(run: Run) -> str:
    return secret_in(run.argv)


def _in_words(run: Run, name: str, fed: set[Run]) -> Iterator[Verdict]:
    shown = _spell(name)
    if run.program not in _OF_THE_SHELL or "/" in str(run.argv[0]):
        told = (
            f"every user of the host can see the secret {shown} in the arguments of {run.program}: "
            f"write `NAME={shown} {run.program} …` or `printf '%s' \"{shown}\" | {run.program} …`"
        )
        yield Verdict(VerdictKind.DENY, "secret-in-arguments", told, run.part)
    elif run.program not in _PRINTS:
        told = f"{run.program} is given the secret {shown}"
        yield Verdict(VerdictKind.APPROVE, "secret-elsewhere", told, run.part)
    elif run not in fed:
        told = f"it prints the secret {shown}"
        yield Verdict(VerdictKind.APPROVE, "secret-printed", told, run.part)


def _spell(variable: str) -> str:
    return f"${{secret:{variable.removeprefix(VARIABLE)}}}"
