"""The guard: judges what may run, in the process that runs it, on the final text (X17, X18)."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from threading import Lock

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.domain.verdict import Verdict, VerdictKind, worst
from shared.guard.display_safety import objection
from shared.guard.findings import Doubt, Findings
from shared.guard.policy.allowlist import AllowList, Coverage
from shared.guard.policy.entries import rule_of
from shared.guard.policy.policy import CommandPolicy
from shared.guard.policy.ruleset import RuleSet
from shared.guard.secret_flow import breaches, in_file
from shared.guard.shell.convert import Unreadable
from shared.guard.shell.fast_path import plain_words
from shared.guard.shell.interpret import TooMuch, Walk
from shared.guard.shell.parse import Dialect, Shfmt, dialects, installed_shfmt
from shared.guard.shell.scope import Scope
from shared.guard.shell.streams import Input

CACHED_VERDICTS = 4096
_REASON = 300
_CODE_OF_PLAN = "it runs code from its directory, and another command of the same plan writes there"
_HARMLESS_OPTION = re.compile(r"-[ceufx]+|-o|pipefail|errexit|nounset")
_SHELLS_WITH_PLAIN_WORDS = frozenset({"sh", "bash", "dash", "ash", "rbash"})


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict, with the findings for every program that the text would run."""

    verdict: Verdict
    findings: tuple[Coverage, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, and what it depends on in a plan.

    `runs_code` is the part that runs code from a directory of the host (empty: none), `writes_code`
    says that others may run what it writes.
    """

    verdict: Verdict
    runs_code: str = ""
    writes_code: bool = True


class Guard:
    """Judges commands by a policy.

    Thread-safe; one is enough for a process. `version` names the policy and the parser: the same
    version gives the same verdicts.
    """

    def __init__(self, policy: CommandPolicy, shfmt: Shfmt | None = None) -> None:
        """Read the rules.

        Raises Misconfigured for a bad entry, for a missing parser, and if one of the policy's own
        checks does not get its expected verdict.
        """
        self._shfmt = shfmt or installed_shfmt()
        self.policy = policy
        self.version = f"{policy.version}-{self._shfmt.version}"
        entries = [(f, rule_of(f.entry, self._shfmt)) for f in policy.forbidden]
        self._rules = RuleSet(rule for _, rule in entries)
        self._list = AllowList(
            policy.allowances, policy.territory, policy.variables, policy.programs
        )
        self._verdicts: OrderedDict[bytes, Judged] = OrderedDict()
        self._lock = Lock()
        self._hold_checks()

    def _hold_checks(self) -> None:
        for command, expected in self.policy.checks:
            verdict = self.judge(command)
            if verdict.kind.value != expected:
                raise Misconfigured(
                    f"{self.policy.source}: the policy denies its own check: {command!r} has to be"
                    f" {expected}, and is {verdict.kind.value} ({verdict.reason or 'allowed'})",
                    stage="guard",
                    next_step=NextStep.of("guard rules"),
                )

    def explain(self, command: str, interpreter: str = "sh") -> Explanation:
        """The verdict with the rule for every program found; for people, not for speed."""
        verdict = self.judge(command, interpreter)
        if objection(command):
            return Explanation(verdict, ())
        try:
            findings = self._read(command, interpreter_name(interpreter), None)
        except Exception:  # noqa: BLE001 - the verdict already says that the guard failed
            return Explanation(verdict, ())
        return Explanation(verdict, tuple(self._list.coverage(findings.runs)))

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """Whether `interpreter` may run `command`: the worst of all findings counts.

        Never raises: a command that cannot be judged needs an approval.
        """
        return self.judge_part(command, interpreter).verdict

    def judge_part(self, command: str, interpreter: str = "sh") -> Judged:
        """The same, with what the other commands of a plan need to know. Never raises."""
        try:
            key = _key(command, interpreter)
        except (AttributeError, UnicodeEncodeError, TypeError):
            told = "it is not valid Unicode text"
            return Judged(Verdict(VerdictKind.APPROVE, "unreadable", told))
        with self._lock:
            judged = self._verdicts.get(key)
            if judged is not None:
                self._verdicts.move_to_end(key)
                return judged
        judged = self._judge(command, interpreter)
        with self._lock:
            self._verdicts[key] = judged
            while len(self._verdicts) > CACHED_VERDICTS:
                self._verdicts.popitem(last=False)
        return judged

    def judge_all(self, commands: Iterable[str], interpreter: str = "sh") -> list[Verdict]:
        """The verdict on each of many commands, in their order.

        New commands are parsed together, which is far cheaper than one by one.
        """
        listed = list(commands)
        name = interpreter_name(interpreter)
        by_dialect: dict[Dialect, list[str]] = {}
        for command in listed:
            if not self._is_plain(command, name):
                with suppress(Unreadable):
                    for dialect in dialects(name, command):
                        by_dialect.setdefault(dialect, []).append(command)
        for dialect, texts in by_dialect.items():
            self._shfmt.read_ahead(texts, dialect)
        return [self.judge(command, interpreter) for command in listed]

    @staticmethod
    def _is_plain(command: str, interpreter: str) -> bool:
        if objection(command):
            return True
        return interpreter in _SHELLS_WITH_PLAIN_WORDS and bool(plain_words(command))

    def programs(self, command: str, interpreter: str = "sh") -> frozenset[str] | None:
        """The names of all programs that a text would start; None if that cannot be known."""
        try:
            if objection(command):
                return None
            findings = self._read(command, interpreter_name(interpreter), None)
        except Exception:  # noqa: BLE001 - a text that cannot be read starts anything
            return None
        found = frozenset(run.program for run in findings.runs)
        return None if findings.doubts or "" in found else found

    def _judge(self, command: str, interpreter: str) -> Judged:
        try:
            if problem := objection(command):
                return Judged(_of_doubt(problem))
            name = interpreter_name(interpreter)
            words = plain_words(command) if name in _SHELLS_WITH_PLAIN_WORDS else None
            return self._judge_findings(self._read(command, name, words))
        except Exception as error:  # noqa: BLE001 - a guard that fails must not let anything pass
            told = f"the guard failed: {error!r}"
            return Judged(Verdict(VerdictKind.APPROVE, "guard-failed", told))

    def _judge_findings(self, findings: Findings) -> Judged:
        spilled = (in_file(spill.rule, spill.part) for spill in findings.spilled)
        verdicts = [*self._rules.verdicts(findings.runs), *breaches(findings.runs), *spilled]
        verdicts += map(_of_doubt, findings.doubts)
        if self.policy.unlisted_allowed:
            return Judged(worst(verdicts), writes_code=False)
        covered = list(self._list.coverage(findings.runs))
        verdicts += (_of_doubt(each.doubt) for each in covered if each.doubt is not None)
        code = next((each.run.part for each in covered if each.runs_code), "")
        return Judged(worst(verdicts), code, self._list.writes_code(covered))

    def _read(self, command: str, interpreter: str, words: list[str] | None) -> Findings:
        return read(self._shfmt, command, interpreter, words)


def read(shfmt: Shfmt, command: str, interpreter: str, words: list[str] | None) -> Findings:
    """What `interpreter` would run for a text; `words` are those of a text that has no syntax.

    What cannot be followed to its end is a doubt.
    """
    walk = Walk(shfmt)
    try:
        if words:
            effect = walk.plain(words, command)
        else:
            effect = walk.text(command, interpreter, Scope(), Input())
        walk.finish(effect)
    except TooMuch as error:
        walk.findings.doubts.append(Doubt("too-large", str(error)))
    except RecursionError:
        walk.findings.doubts.append(Doubt("too-large", "it is nested too deeply"))
    return walk.findings


class PlanGuard:
    """A guard that knows all commands of a plan. Thread-safe."""

    def __init__(
        self,
        guard: Guard,
        commands: Iterable[str],
        interpreter: str = "sh",
        *,
        elsewhere: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """Read all that this part of the plan may run, in any order.

        `elsewhere` returns the commands of the other parts. It is called once, and only if a
        command runs code that one of them may have written.
        """
        listed = list(commands)
        guard.judge_all(listed, interpreter)
        self._guard = guard
        self._interpreter = interpreter
        self._elsewhere = elsewhere
        self._code_written: bool | None = self._writes_code(listed) or None

    @property
    def version(self) -> str:
        """The guard's version: the plan is part of the input."""
        return self._guard.version

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The guard's verdict, but code that the plan may have written needs an approval.

        That is a script, test or build target. Never raises: a command that cannot be judged needs
        an approval.
        """
        judged = self._guard.judge_part(command, interpreter)
        if judged.verdict.allowed and judged.runs_code and self._may_have_been_written():
            return Verdict(VerdictKind.APPROVE, "written-script", _CODE_OF_PLAN, judged.runs_code)
        return judged.verdict

    def _may_have_been_written(self) -> bool:
        if self._code_written is None:
            listed = list(self._elsewhere())
            self._guard.judge_all(listed, self._interpreter)
            self._code_written = self._writes_code(listed)
        return self._code_written

    def _writes_code(self, commands: Iterable[str]) -> bool:
        return any(self._guard.judge_part(text, self._interpreter).writes_code for text in commands)


@lru_cache(64)
def interpreter_name(interpreter: str) -> str:
    """`/usr/bin/env bash -e` becomes `bash`; with options that matter it stays as it is."""
    words = interpreter.split()
    if words and PurePosixPath(words[0]).name == "env":
        words = words[1:]
    if not words or not all(map(_HARMLESS_OPTION.fullmatch, words[1:])):
        return interpreter
    return PurePosixPath(words[0]).name


def _key(command: str, interpreter: str) -> bytes:
    # a digest, so that no command (which may hold a secret) is kept
    return hashlib.sha256(f"{interpreter}\0{command}".encode()).digest()


def _of_doubt(doubt: Doubt) -> Verdict:
    return Verdict(VerdictKind.APPROVE, doubt.rule, doubt.reason[:_REASON], doubt.part)
