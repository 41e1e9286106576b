"""The narrowest rules that would allow a text about which a person is asked (X17).

A rule is proposed for each program that no rule covers: its very words, in the directory where it
runs, with nothing on its input (`shared.guard.policy.exact`). Whatever else makes the text ask, no
rule for a program can answer, and then none is proposed.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from orchestrator.proposals.obstacles import NoRule, Obstacle
from shared.domain.verdict import Verdict
from shared.guard.guard import Explanation, Guard
from shared.guard.policy.allowlist import Coverage
from shared.guard.policy.exact import directory_name
from shared.guard.policy.files import AllowText, RuleText
from shared.guard.policy.ground import Ground
from shared.guard.policy.notation import quote, quoted_words
from shared.guard.policy.policy import PROFILES, CommandPolicy, profile, with_rules
from shared.guard.programs.inline_code import INTERPRETERS, SHELL_NAMES, language
from shared.guard.programs.runners import WRITES_NOTHING
from shared.guard.words import HOME, Hole, Run, Word, literal_word

_MISSING = frozenset({"unlisted-program", "unlisted-use"})
"""The doubts that say only that no rule lists it."""

_VERB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_PATH = re.compile(r"[\w./+~-]+")
_PIECES = re.compile(r"[=:,@;|&\s\"'()<>{}]+")
_LIKE_A_PATH = re.compile(
    rf"([/{HOME}]|\.\.?/).*|\.|[^:]*\.(conf|cfg|ini|toml|ya?ml|json|xml|sql|sh|py|rb|js|php|pl|lua|tf"
    r"|hcl|service|timer|deb|rpm|apk|jar|war|whl|so|tar|t?[gx]z|bz2|zst|zip|out|txt|csv|dump|bak)",
    re.DOTALL,
)
_MOST_CHARACTERS = 2000
_ONLY_NAMES = frozenset({
    *("rm", "rmdir", "mkdir", "touch", "chmod", "chown", "chgrp", "chattr", "setfacl", "find"),
    *("du", "df", "ls", "stat", "useradd", "usermod", "adduser", "umount", "fuser", "lsof"),
})  # fmt: skip
"""Programs to which what a file holds does not matter."""

_OF_THE_SHELL = frozenset({"eval", "source", ".", "exec", "command", "alias", "trap"})
_SHOW_VARIABLES = frozenset({"env", "printenv", "set", "export", "declare", "typeset", "readonly"})
"""Programs that print all variables, in which secrets may stand, when they are given no other."""

_TAKE_NUMBERS = frozenset({"kill", "renice", "ionice", "taskset", "chrt", "prlimit", "reptyr"})
"""Programs to which a number is a process: tomorrow another one has it."""

_RUNNERS = frozenset({
    *("ant", "ansible", "ansible-playbook", "awk", "bazel", "bundle", "cmake", "composer"),
    *("deno", "dotnet", "ed", "emacs", "ex", "expect", "fab", "gawk", "gdb", "gradle", "grunt"),
    *("gulp", "helm", "invoke", "java", "just", "m4", "mawk", "meson", "msbuild", "ninja", "nox"),
    *("npx", "packer", "pip", "pip3", "pipenv", "pnpm", "poetry", "pulumi", "rake", "sbt", "scons"),
    *("swift", "task", "terraform", "tofu", "uv", "uvx", "vagrant", "vi", "vim", "yarn", "zig"),
})  # fmt: skip
"""Programs that run what lies in their directory, besides those that the shipped rules know."""

_BUILDS = frozenset({("build",), ("buildx",), ("compose",), ("stack",), ("bake",)})
_ONLY_SOME: dict[str, frozenset[tuple[str, ...]]] = {
    "docker": _BUILDS,
    "podman": _BUILDS,
    "git": frozenset(),
}
"""The sub-commands that do so, of programs of which others do not."""


_KINDS = {
    "written-script": NoRule.BROUGHT,
    "unlisted-place": NoRule.PLACE,
    "environment": NoRule.VARIABLE,
    "shell-changed": NoRule.VARIABLE,
    **dict.fromkeys(
        ("other-language", "unknown-code", "program-from-input", "startup-file", "sourced-file"),
        NoRule.CODE,
    ),
    **dict.fromkeys(("unknown-script", "arithmetic-code", "code"), NoRule.CODE),
    **dict.fromkeys(("unknown-command", "computed-command"), NoRule.UNKNOWN_WORD),
}


@dataclass(frozen=True, slots=True)
class ProposedRule:
    """One rule of style `exact`: a program, the kinds of the words after it, and its directories.

    `code`: the program runs what lies in its directory, so a plan that writes there still asks.
    `brings`: it may write files that nobody has seen.
    """

    run: tuple[str, ...]
    kinds: tuple[str, ...]
    directories: tuple[str, ...]
    code: bool = False
    brings: bool = False

    @property
    def command(self) -> str:
        """The program and its words as a shell reads them; kinds in angle brackets."""
        return " ".join((*map(shlex.quote, self.run), *map(_shown, self.kinds)))

    def written(self) -> dict[str, object]:
        """The rule as a policy file has it."""
        said: dict[str, object] = {"run": " ".join(self.run), "style": "exact"}
        if self.kinds:
            said["operands"] = " ".join(self.kinds)
        said["directory"] = (
            self.directories[0] if len(self.directories) == 1 else [*self.directories]
        )
        flags = {"code": self.code, "brings": self.brings}
        return said | {name: True for name, holds in flags.items() if holds}

    def text(self) -> RuleText:
        """The rule as the reader of policy files has it."""
        return RuleText.model_validate(self.written())


@dataclass(frozen=True, slots=True)
class Proposal:
    """The rules that together would allow a text, or why none can; neither if none is needed."""

    rules: tuple[ProposedRule, ...] = ()
    obstacles: tuple[Obstacle, ...] = field(default=())


def propose(guard: Guard, command: str, interpreter: str = "sh") -> Proposal:
    """The narrowest rules that would have this guard allow the text."""
    told = guard.explain(command, interpreter)
    if told.verdict.allowed:
        return Proposal()
    if told.verdict.denied:
        return Proposal(obstacles=(_of_verdict(told.verdict, NoRule.FORBIDDEN),))
    found = list(_answers(guard.policy, told))
    obstacles = tuple(dict.fromkeys(each for each in found if isinstance(each, Obstacle)))
    rules = tuple(dict.fromkeys(each for each in found if isinstance(each, ProposedRule)))
    if obstacles or not rules:
        own = _of_verdict(told.verdict, _kind_of(told.verdict.rule))
        return Proposal(obstacles=obstacles or (own,))
    after = guard_with(guard, rules).judge(command, interpreter)
    if after.allowed:
        return Proposal(rules)
    return Proposal(obstacles=(_of_verdict(after, _KINDS.get(after.rule, NoRule.NOT_ENOUGH)),))


def guard_with(guard: Guard, rules: Iterable[ProposedRule]) -> Guard:
    """The same guard with these rules, and without the policy's checks."""
    group = AllowText(reason="proposed rules", rules=[rule.text() for rule in rules])
    policy = replace(guard.policy, checks=())
    return Guard(with_rules(policy, [group], "proposal"))


def asking_runs(explanation: Explanation) -> tuple[Run, ...]:
    """The programs in a text that no rule covers."""
    return tuple(
        each.run
        for each in explanation.findings
        if each.doubt is not None and each.doubt.rule in _MISSING
    )


def _answers(policy: CommandPolicy, told: Explanation) -> Iterator[Obstacle | ProposedRule]:
    """For everything that makes a text ask: a rule, or why none can help."""
    forbidden = {each.entry for each in policy.forbidden}
    for verdict in told.beside:
        if verdict.denied or verdict.rule in forbidden:
            yield _of_verdict(verdict, NoRule.FORBIDDEN)
        else:
            yield _of_verdict(verdict, _kind_of(verdict.rule))
    for covered in told.findings:
        doubt = covered.doubt
        if doubt is not None and doubt.rule in _MISSING:
            yield _of_run(policy, covered)
        elif doubt is not None:
            yield Obstacle(_kind_of(doubt.rule), doubt.part, doubt.reason)


def _of_run(policy: CommandPolicy, covered: Coverage) -> Obstacle | ProposedRule:
    """The rule for one program of a text, or why there can be none."""
    run = covered.run
    if obstacle := next(_obstacles(policy, run), None):
        return obstacle
    name, *words = (word.literal or "" for word in run.argv)
    folder, slash, program = name.rpartition("/")
    if slash and folder in policy.programs:
        name = program
    verbs: tuple[str, ...] = ()
    if words and "/" not in name and _VERB.fullmatch(words[0]) and _has_verbs(policy, name):
        verbs, words = (words[0],), words[1:]
    code = _runs_code(name, verbs) or _uses_files_of_plans(policy, run)
    return ProposedRule(
        run=(name, *verbs),
        kinds=tuple(quote(_spell_home(word)) for word in words),
        directories=_directories(run),
        code=code,
        brings=not code and run.program not in WRITES_NOTHING,
    )


def _obstacles(policy: CommandPolicy, run: Run) -> Iterator[Obstacle]:
    """Why no rule can cover a run that none lists."""

    def because(kind: NoRule, reason: str) -> Obstacle:
        return Obstacle(kind, run.part, reason)

    yield from (because(*each) for each in _about_program(policy, run))
    yield from (because(*each) for each in _about_words(run))
    if run.given:
        yield because(NoRule.INPUT, f"the text gives {run.program} its input")
    if not run.sure:
        yield because(NoRule.UNREADABLE, "another reading of the text is as likely")
    if any(directory_name(directory) is None for directory in run.directories):
        yield because(NoRule.UNKNOWN_WORD, "the directory in which it runs is not known")
    if why := _secret_in(policy, run):
        yield because(NoRule.SECRET, why)
    if path := next(_paths(policy, run, anybody=True), ""):
        yield because(NoRule.BROUGHT, f"anybody may put another file at {path}")


def _about_program(policy: CommandPolicy, run: Run) -> Iterator[tuple[NoRule, str]]:
    name = run.argv[0].literal
    folder, slash, _ = (name or "").rpartition("/")
    if name is None or not _PATH.fullmatch(name.replace(HOME, "~")):
        yield NoRule.UNKNOWN_WORD, f"which program runs is not certain: {run.argv[0]}"
    elif run.program in SHELL_NAMES | _OF_THE_SHELL or language(run.program) in INTERPRETERS:
        told = f"{run.program} runs a program that it reads: a rule names it, not what it holds"
        yield NoRule.CODE, told
    elif slash and folder not in policy.programs and not name.startswith("/"):
        yield NoRule.CODE, f"which file {run.argv[0]} is depends on the directory"
    elif slash and folder not in policy.programs and _is_anybodys(policy, run, name):
        yield NoRule.BROUGHT, f"anybody may put another program at {run.argv[0]}"
    if run.program in _SHOW_VARIABLES:
        yield NoRule.SECRET, f"{run.program} shows variables, and secrets among them"


def _about_words(run: Run) -> Iterator[tuple[NoRule, str]]:
    numbers = run.program in _TAKE_NUMBERS
    for word in run.argv[1:]:
        if any(isinstance(piece, Hole) and piece.secret for piece in word.pieces):
            yield NoRule.SECRET, f"it is given a secret: {word}"
        elif word.literal is None:
            yield NoRule.UNKNOWN_WORD, f"{word} is known only when it runs"
        elif not _can_be_quoted(word.literal):
            yield NoRule.UNKNOWN_WORD, f"{word} depends on the account, or is too long"
        elif numbers and word.literal.isdecimal():
            yield NoRule.FLEETING, f"the number {word} is another process later"


def _secret_in(policy: CommandPolicy, run: Run) -> str | None:
    """Why a word of a run may name a secret; None if none does.

    Nothing is known of the program, so a path may stand anywhere in a word, and a name counts from
    every folder that the run names.
    """
    pieces = list(dict.fromkeys(piece for word in run.argv[1:] for piece in _pieces(word)))
    folders = [literal_word(piece) for piece in pieces if piece.startswith(("/", HOME))]
    for piece in pieces:
        for folder in (*run.directories, *folders):
            ground = Ground(policy.territory, (folder,), re.compile(""))
            if why := ground.territory.no_read(literal_word(piece), ground.directories):
                return why
    return None


def _pieces(word: Word) -> Iterator[str]:
    text = word.literal or ""
    if not text.startswith("-"):
        yield text
    for piece in _PIECES.split(text):
        if piece and piece != text and not piece.startswith("-"):
            yield piece
        if piece.startswith("-") and "/" in piece:
            yield piece[piece.index("/") :]


def _directories(run: Run) -> tuple[str, ...]:
    return tuple(dict.fromkeys(directory_name(each) or "" for each in run.directories))


def _has_verbs(policy: CommandPolicy, program: str) -> bool:
    """Whether the first word after a program is likely a sub-command."""
    known = [len(each.run) > 1 for each in policy.allowances if each.run[0] == program]
    return not known or any(known)


@cache
def _known(key: Literal["code", "brings"]) -> frozenset[str]:
    """The programs of which a shipped rule says this."""
    return frozenset(
        run[0]
        for name in PROFILES
        for group in profile(name).allow
        for rule in group.rules
        if getattr(rule, key)
        for run in rule.runs
    )


def _uses_files_of_plans(policy: CommandPolicy, run: Run) -> bool:
    """Whether a word may name a file that a plan has written, where what it holds counts."""
    return run.program not in _known("brings") and next(_paths(policy, run), None) is not None


def _paths(policy: CommandPolicy, run: Run, *, anybody: bool = False) -> Iterator[str]:
    """The words of a run that name what plans may write; for `anybody`, outside of code places."""
    if run.program in _ONLY_NAMES:
        return
    places = policy.territory
    for piece in (piece for word in run.argv[1:] for piece in _pieces(word)):
        if not _LIKE_A_PATH.fullmatch(piece):
            continue
        may_be_written = places.no_write(literal_word(piece), run.directories) is None
        if may_be_written and (not anybody or _is_anybodys(policy, run, piece)):
            yield _spell_home(piece)


def _is_anybodys(policy: CommandPolicy, run: Run, path: str) -> bool:
    """Whether it lies where the policy lets everything be written and nothing be run: /tmp."""
    word, places = literal_word(path), policy.territory
    return places.no_write(word, run.directories) is None and (
        places.no_code(word, run.directories) is not None
    )


def _runs_code(program: str, verbs: tuple[str, ...]) -> bool:
    """Whether a program runs what lies in its directory; git counts as bringing files there."""
    if program in _ONLY_SOME:
        return verbs[:1] in _ONLY_SOME[program]
    return "/" in program or program in _RUNNERS or program in _known("code")


def _can_be_quoted(text: str) -> bool:
    if len(text) > _MOST_CHARACTERS or text.startswith("~"):
        return False
    at_home = text == HOME or text.startswith(f"{HOME}/")
    return HOME not in (text[1:] if at_home else text)


def _spell_home(text: str) -> str:
    return text.replace(HOME, "~")


def _shown(kind: str) -> str:
    words = quoted_words(kind)
    if words is None:
        return f"<{kind}>"
    return "|".join(shlex.quote(word) for word in sorted(words))


def _kind_of(rule: str) -> NoRule:
    if rule.startswith("secret"):
        return NoRule.SECRET
    return _KINDS.get(rule, NoRule.UNREADABLE)


def _of_verdict(verdict: Verdict, kind: NoRule) -> Obstacle:
    return Obstacle(kind, verdict.part, verdict.reason)
