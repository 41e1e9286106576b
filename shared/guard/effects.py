"""What a text does to a host, program by program; nothing is run and no policy decides."""

from dataclasses import dataclass
from functools import cache, lru_cache

from shared.guard.display_safety import objection
from shared.guard.guard import read
from shared.guard.policy.allowlist import AllowList
from shared.guard.policy.policy import looks
from shared.guard.programs.effects import Effect, gains, losses
from shared.guard.shell.fast_path import plain_words
from shared.guard.shell.parse import installed_shfmt
from shared.guard.words import Run, Word

_WRAPPERS = frozenset(
    {
        *("sudo", "doas", "env", "nohup", "nice", "ionice", "timeout", "time", "setsid", "exec"),
        *("command", "eval", "stdbuf", "xargs", "chronic"),
    }
)
"""Programs that do nothing but run another, which is judged by itself."""

_WITH_VERBS = frozenset(
    {"systemctl", "git", "docker", "podman", "apt", "apt-get", "apt-cache", "pip", "npm", "kubectl"}
)
_HERE = "<<"
"""A text inside the text: nobody reads there what is named."""

_SHELLS = frozenset({"sh", "bash", "dash", "ash"})
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


@dataclass(frozen=True, slots=True)
class ProgramEffect:
    """What one program in a text does.

    `names` are the things that it names: paths, packages, units and all other operands. `part` is
    the piece of the text.
    """

    effect: Effect
    part: str
    names: tuple[str, ...] = ()


@lru_cache(1024)
def effects(text: str) -> tuple[ProgramEffect, ...]:
    """What each program does that `sh` would run for this text.

    One unknown effect stands for a text that cannot be read completely. Never raises for a text.
    """
    unreadable = (ProgramEffect(Effect.UNKNOWN, text[:200]),)
    try:
        if objection(text):
            return unreadable
        findings = read(installed_shfmt(), text, "sh", plain_words(text))
        covered = _looks().coverage(findings.runs)
        found = tuple(_effect(each.run, only_looks=each.doubt is None) for each in covered)
    except Exception:  # noqa: BLE001 - a text that cannot be read may do anything
        return unreadable
    return (*found, *unreadable) if findings.doubts or _HERE in text else found


@lru_cache(1024)
def programs_in(text: str) -> tuple[Run, ...]:
    """Each program that `sh` would run for this text, wrappers and what they run included.

    Empty for a text that cannot be read completely. Never raises for a text.
    """
    try:
        if objection(text):
            return ()
        runs = read(installed_shfmt(), text, "sh", plain_words(text)).runs
    except Exception:  # noqa: BLE001 - of a text that cannot be read nothing is known
        return ()
    return tuple(run for run in runs if run.argv)


def destroys(text: str) -> tuple[str, ...]:
    """The parts of a text that stop or destroy something; empty if nothing in it is known to."""
    harmful = {Effect.STOPS, Effect.DESTROYS}
    return tuple(dict.fromkeys(each.part for each in effects(text) if each.effect in harmful))


def _effect(run: Run, *, only_looks: bool) -> ProgramEffect:
    if not run.argv:
        return _by_the_shell(run, only_looks=only_looks)
    words = tuple(map(str, run.argv[1:]))
    known = all(word.literal is not None for word in run.argv)
    if (loss := losses(run.program, words)) is not None:
        return ProgramEffect(loss, run.part, _named(run.program, words))
    if run.program in _WRAPPERS or (run.program in _SHELLS and _is_inline(run.argv[1:])):
        return ProgramEffect(Effect.LOOKS, run.part)
    if known and only_looks:
        return ProgramEffect(Effect.LOOKS, run.part, _named(run.program, words))
    things = gains(run.program, words) if known else None
    if things is None:
        return ProgramEffect(Effect.UNKNOWN, run.part, _named(run.program, words))
    return ProgramEffect(Effect.ADDS, run.part, things)


def _by_the_shell(run: Run, *, only_looks: bool) -> ProgramEffect:
    """A redirection, or a variable that is set for a program."""
    written = tuple(str(word) for word in run.writes if str(word) not in _NOWHERE)
    if written:
        effect = Effect.ADDS if run.appends else Effect.DESTROYS
        return ProgramEffect(effect, run.part, written)
    effect = Effect.LOOKS if only_looks or run.writes else Effect.UNKNOWN
    return ProgramEffect(effect, run.part, tuple(map(str, run.reads)))


def _is_inline(words: tuple[Word, ...]) -> bool:
    """Whether a shell is given its program as a word, as in `sh -ec TEXT`."""
    first = words[0].literal if words else None
    return first is not None and first.startswith("-") and "c" in first


def _named(program: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Operands without the verb before them, and the values of options."""
    operands = [word for word in words if not word.startswith("-")]
    values = [word.partition("=")[2] for word in words if word.startswith("-")]
    return tuple(filter(None, (*operands[program in _WITH_VERBS :], *values)))


@cache
def _looks() -> AllowList:
    policy = looks()
    return AllowList(policy.allowances, policy.territory, policy.variables, policy.programs)
