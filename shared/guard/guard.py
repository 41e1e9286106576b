"""The guard: what may run, judged in the process that runs it, on the final text (X17, X18)."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from threading import Lock

from shared.domain.errors import Misconfigured
from shared.domain.verdict import Verdict, VerdictKind, worst
from shared.guard.allowlist import AllowList, Finding
from shared.guard.convert import Unreadable
from shared.guard.entries import rule_of
from shared.guard.flow import Input
from shared.guard.parse import Dialect, Shfmt, dialects, installed_shfmt
from shared.guard.plain import plain_words
from shared.guard.policy import Policy
from shared.guard.reading import Doubt, Reading
from shared.guard.ruleset import RuleSet
from shared.guard.scope import Scope
from shared.guard.screen import objection
from shared.guard.secrecy import breaches, in_file
from shared.guard.walk import TooMuch, Walk

CACHED_VERDICTS = 4096
_REASON = 300
_HARMLESS_OPTION = re.compile(r"-[ceufx]+|-o|pipefail|errexit|nounset")
_SHELLS_WITH_PLAIN_WORDS = frozenset({"sh", "bash", "dash", "ash", "rbash"})


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict, and what was found for every program that the text would run."""

    verdict: Verdict
    findings: tuple[Finding, ...]


class Guard:
    """Holds commands against a policy. Thread-safe; one serves a whole process.

    `version` names the policy and the parser: the same version gives the same verdicts.
    """

    def __init__(self, policy: Policy, shfmt: Shfmt | None = None) -> None:
        """Read the rules.

        Raises Misconfigured for a bad entry, when the parser is missing, and when one of the
        policy's own checks gets another verdict than it says.
        """
        self._shfmt = shfmt or installed_shfmt()
        self.policy = policy
        self.version = f"{policy.version}-{self._shfmt.version}"
        entries = [(f, rule_of(f.entry, self._shfmt)) for f in policy.forbidden]
        self._rules = RuleSet(rule for _, rule in entries)
        self._list = AllowList(
            policy.allowances, policy.territory, policy.variables, policy.programs
        )
        self._verdicts: OrderedDict[bytes, Verdict] = OrderedDict()
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
                    next_step_cmd="replan guard rules",
                )

    def explain(self, command: str, interpreter: str = "sh") -> Explanation:
        """The verdict with the rule for every program found; for people, not for speed."""
        verdict = self.judge(command, interpreter)
        reading = self._reading(command, interpreter)
        if reading is None:
            return Explanation(verdict, ())
        return Explanation(verdict, tuple(self._list.findings(reading.runs)))

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """Whether `interpreter` may be given `command`: the worst of all that is found in it.

        Never raises: what cannot be judged needs an approval.
        """
        try:
            key = _key(command, interpreter)
        except (AttributeError, UnicodeEncodeError, TypeError):
            return Verdict(VerdictKind.APPROVE, "unreadable", "it is not valid Unicode text")
        with self._lock:
            verdict = self._verdicts.get(key)
            if verdict is not None:
                self._verdicts.move_to_end(key)
                return verdict
        verdict = self._judge(command, interpreter)
        with self._lock:
            self._verdicts[key] = verdict
            while len(self._verdicts) > CACHED_VERDICTS:
                self._verdicts.popitem(last=False)
        return verdict

    def judge_all(self, commands: Iterable[str], interpreter: str = "sh") -> list[Verdict]:
        """The verdict on each of many commands, in their order.

        Those that have not been seen before are parsed together, far cheaper than one by one.
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

    def writes_code(self, command: str, interpreter: str = "sh") -> bool:
        """True when what the command writes may be run by a later one, or when that is unknown."""
        reading = self._reading(command, interpreter)
        return reading is None or self._list.writes_code(reading.runs)

    def runs_code(self, command: str, interpreter: str = "sh") -> str:
        """The part that runs what lies in a directory of the host; empty when none does."""
        if self.policy.unlisted_allowed:
            return ""
        reading = self._reading(command, interpreter)
        return command[:_REASON] if reading is None else self._list.runs_code(reading.runs)

    def _reading(self, command: str, interpreter: str) -> Reading | None:
        if objection(command):
            return None
        try:
            return self._read(command, interpreter_name(interpreter), None)
        except Exception:  # noqa: BLE001 - nothing is known of what the guard fails on
            return None

    @staticmethod
    def _is_plain(command: str, interpreter: str) -> bool:
        if objection(command):
            return True
        return interpreter in _SHELLS_WITH_PLAIN_WORDS and bool(plain_words(command))

    def _judge(self, command: str, interpreter: str) -> Verdict:
        try:
            if problem := objection(command):
                return _of_doubt(problem)
            name = interpreter_name(interpreter)
            words = plain_words(command) if name in _SHELLS_WITH_PLAIN_WORDS else None
            reading = self._read(command, name, words)
            doubts = [*reading.doubts, *self._unlisted(reading)]
            spilled = (in_file(spill.rule, spill.part) for spill in reading.spilled)
            verdicts = (*self._rules.verdicts(reading.runs), *breaches(reading.runs), *spilled)
            return worst([*verdicts, *map(_of_doubt, doubts)])
        except Exception as error:  # noqa: BLE001 - a guard that fails must not let anything pass
            return Verdict(VerdictKind.APPROVE, "guard-failed", f"the guard failed: {error!r}")

    def _unlisted(self, reading: Reading) -> Iterable[Doubt]:
        if self.policy.unlisted_allowed:
            return
        for finding in self._list.findings(reading.runs):
            if finding.doubt is not None:
                yield finding.doubt

    def _read(self, command: str, interpreter: str, words: list[str] | None) -> Reading:
        walk = Walk(self._shfmt)
        try:
            if words:
                outcome = walk.plain(words, command)
            else:
                outcome = walk.text(command, interpreter, Scope(), Input())
            walk.finish(outcome)
        except TooMuch as error:
            walk.reading.doubts.append(Doubt("too-large", str(error)))
        except RecursionError:
            walk.reading.doubts.append(Doubt("too-large", "it is nested too deeply"))
        return walk.reading


@lru_cache(64)
def interpreter_name(interpreter: str) -> str:
    """`/usr/bin/env bash -e` is `bash`; with options that change what is read it stays as it is."""
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
