"""The guard: judges what may run, in the process that runs it, on the final text (X17, X18)."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import PurePosixPath
from threading import Lock
from typing import Final

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.domain.verdict import ALLOWED, Verdict, VerdictKind, worst
from shared.guard.configuration import Inner, configuring
from shared.guard.display_safety import objection
from shared.guard.findings import Doubt, Findings
from shared.guard.policy.allowlist import AllowList, Coverage
from shared.guard.policy.backups import backup_verdicts
from shared.guard.policy.configured import Configuring
from shared.guard.policy.databases import database_verdicts
from shared.guard.policy.downloaded import downloaded_verdicts
from shared.guard.policy.dumps import dump_verdicts
from shared.guard.policy.entries import rule_of
from shared.guard.policy.exhaustion import exhaustion_verdicts
from shared.guard.policy.hidden import shown_variable
from shared.guard.policy.images import image_verdicts
from shared.guard.policy.loaded_texts import loaded_verdicts
from shared.guard.policy.opened_rights import opened_verdicts
from shared.guard.policy.overwrites import overwrite_verdicts
from shared.guard.policy.own import file_of, own_verdicts
from shared.guard.policy.policy import CommandPolicy, Site
from shared.guard.policy.published import published_verdicts
from shared.guard.policy.redirects import redirect_verdicts
from shared.guard.policy.ruleset import RuleSet
from shared.guard.policy.searched_secrets import searched_verdicts
from shared.guard.policy.strangers import stranger_verdicts
from shared.guard.policy.volatile import volatile_verdicts
from shared.guard.policy.weakened_texts import weakened_verdicts
from shared.guard.policy.written_passwords import password_verdicts
from shared.guard.provenance import Origin, Provenance
from shared.guard.publication import Publication
from shared.guard.reach import Need, Reach, programs, reach_of
from shared.guard.secret_flow import breaches, code_breaches, in_file
from shared.guard.shell.convert import Unreadable
from shared.guard.shell.fast_path import plain_words
from shared.guard.shell.interpret import TooMuch, Walk
from shared.guard.shell.parse import Dialect, Shfmt, dialects, installed_shfmt
from shared.guard.shell.scope import Scope
from shared.guard.shell.streams import Input
from shared.guard.snippets import only_says
from shared.guard.traces import Traces, traces
from shared.guard.unpackings import unpacking_objection
from shared.guard.words import Run

CACHED_VERDICTS = 4096
_REASON = 300
_NO_TRACES = Traces()
_HARMLESS_OPTION = re.compile(r"-[ceufx]+|-o|pipefail|errexit|nounset")
_SHELLS_WITH_PLAIN_WORDS = frozenset({"sh", "bash", "dash", "ash", "rbash"})


_CONFIGURES_NOTHING = Configuring()
_INTO_A_LOG = re.compile(r"\s*>>?\s*/[\w./-]+(?:\s*2>&1)?\s*$")
"""How a job of cron ends: it needs no folder to start in."""

_OF_RUNS: Final = (
    *(exhaustion_verdicts, overwrite_verdicts, database_verdicts, backup_verdicts),
    *(volatile_verdicts, opened_verdicts, image_verdicts, stranger_verdicts),
    *(published_verdicts, dump_verdicts, searched_verdicts, downloaded_verdicts),
)
"""What is asked about although rules list every program of a text."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict, with the findings for every program that the text would run.

    `beside` are the verdicts that no rule for a program could change: of what is forbidden, of
    secrets, and of what cannot be decided.
    """

    verdict: Verdict
    findings: tuple[Coverage, ...]
    beside: tuple[Verdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, and what it depends on in a plan.

    `runs_code` is the part that runs code from a directory of the host (empty: none), `writes_code`
    says that others may run what it writes; `traces` are the places that it leaves and uses.
    `settled` is the verdict where the plan keeps a way back from what `configuring` changes, and
    tests it.
    """

    verdict: Verdict
    runs_code: str = ""
    writes_code: bool = True
    traces: Traces = _NO_TRACES
    settled: Verdict | None = None
    configuring: Configuring = _CONFIGURES_NOTHING


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
        reasons = {each.entry: each.reason for each, _ in entries}
        self._rules = RuleSet((rule for _, rule in entries), reasons)
        self._list = AllowList(
            policy.allowances, policy.territory, policy.variables, policy.programs
        )
        self._policy_file = file_of(policy.source)
        self._verdicts: OrderedDict[bytes, Judged] = OrderedDict()
        self._lock = Lock()
        programs()  # a table that cannot be read is told at once
        self._hold_checks()

    def _hold_checks(self) -> None:
        for command, expected in self.policy.checks:
            verdict = self.judge(command)
            if verdict.kind.value != expected:
                raise Misconfigured(
                    f"{self.policy.source}: the policy denies its own check: {command!r} has to be"
                    f" {expected}, and is {verdict.kind.value} ({verdict.reason or 'allowed'})",
                    stage="guard",
                    next_step=NextStep.of("guard rules", help=True),
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
        covered = tuple(self._list.coverage(findings.runs))
        return Explanation(verdict, covered, tuple(self._beside_the_list(findings)))

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

    def reach(self, command: str, interpreter: str = "sh") -> Reach:
        """What a look needs besides files. Never raises."""
        try:
            if objection(command):
                return _UNREADABLE
            name = interpreter_name(interpreter)
            words = plain_words(command) if name in _SHELLS_WITH_PLAIN_WORDS else None
            findings = self._read(command, name, words)
            if name == "sh" and any(doubt.rule == "unreadable" for doubt in findings.doubts):
                # a shell that does not know the syntax of bash says so, and fails
                findings = self._read(command, "bash", None)
            found = reach_of(command, findings, self.policy.reach)
            if self._list.names_secret(findings.runs):
                found = Reach(found.needs | {Need.SECRETS}, plain_readers=False)
        except Exception:  # noqa: BLE001 - what cannot be read may need anything
            return _UNREADABLE
        return found

    def _judge(self, command: str, interpreter: str) -> Judged:
        try:
            if problem := objection(command):
                return Judged(_of_doubt(problem))
            name = interpreter_name(interpreter)
            words = plain_words(command) if name in _SHELLS_WITH_PLAIN_WORDS else None
            judged = self._judge_findings(self._read(command, name, words))
            judged = self._with_environment(judged, command)
        except Exception as error:  # noqa: BLE001 - a guard that fails must not let anything pass
            told = f"the guard failed: {error!r}"
            return Judged(Verdict(VerdictKind.APPROVE, "guard-failed", told))
        harmless = not judged.verdict.denied and only_says(command)
        return Judged(ALLOWED, writes_code=False) if harmless else judged

    def _with_environment(self, judged: Judged, command: str) -> Judged:
        """The same, but a text asks that uses a secret of the account's environment."""
        if not judged.verdict.allowed or self.policy.unlisted_allowed:
            return judged
        variable = shown_variable(command)
        if variable is None:
            return judged
        told = f"the environment may hold a secret in ${variable}"
        return replace(judged, verdict=Verdict(VerdictKind.APPROVE, "environment", told))

    def _judge_findings(self, findings: Findings) -> Judged:
        verdicts = self._beside_the_list(findings)
        if self.policy.unlisted_allowed:
            return Judged(worst(verdicts), writes_code=False)
        for judge_runs in _OF_RUNS:
            verdicts += judge_runs(findings.runs)
        verdicts += loaded_verdicts(findings.written)
        verdicts += password_verdicts(findings.written)
        verdicts += weakened_verdicts(findings)
        verdicts += redirect_verdicts(findings.runs, self.policy.territory.hosts)
        changing = configuring(findings, self.policy.configured, self._inner)
        covered = list(self._list.coverage(findings.runs, changing))
        if findings.names_secret:
            code = [each.run for each in covered if each.runs_code]
            verdicts += code_breaches(findings, code, self._consumes)
        verdicts += (_of_doubt(each.doubt) for each in covered if each.doubt is not None)
        code_part = next((each.run.part for each in covered if each.runs_code), "")
        unsettled = changing.unsettled(())
        left = traces(covered, changing.placed)
        if changing.commands:
            later = (self.judge_part(command).traces.uses for command in changing.commands)
            left = replace(left, uses=(*left.uses, *(use for uses in later for use in uses)))
        if left.marks and left.uses:
            own = Provenance(left.marks, Origin()).objection(left.uses, self.misplaced)
            verdicts += () if own is None else (own,)
        published = Publication(left.marks).objection(left.puts) if left.puts else None
        verdicts += () if published is None else (published,)
        unpacked = unpacking_objection(
            left.unpackings, left.unpackings, left.fetched, (*left.marks, *left.copies)
        )
        verdicts += () if unpacked is None else (unpacked,)
        writes = self._list.writes_code(covered, changing) or bool(findings.doubts)
        settled = worst(verdicts)
        return Judged(
            settled if unsettled is None else worst([settled, unsettled]),
            code_part or changing.code,
            writes,
            left,
            settled=settled,
            configuring=changing,
        )

    def misplaced(self, kind: str, path: str) -> str | None:
        """Why a place is not allowed as that kind of operand; None if it is."""
        return self._list.misplaced(kind, path)

    def _inner(self, command: str) -> Inner:
        """Whether a command may run that a file of configuration would run, nobody knows where."""
        judged = self.judge_part(command)
        if judged.verdict.allowed and judged.runs_code:
            plain = command.startswith("/") and plain_words(_INTO_A_LOG.sub("", command))
            return Inner("" if plain else "it runs code from a directory that is not known", True)
        # where it starts, its relative paths are not known to lie in a usual place
        judged = self.judge_part(f"cd / && {command}")
        return Inner("" if judged.verdict.allowed else judged.verdict.reason)

    def _consumes(self, run: Run, way: str) -> bool:
        listed = _shipped_consumers() if self.policy.unlisted_allowed else self._list
        return listed.consumes(run, way)

    def _beside_the_list(self, findings: Findings) -> list[Verdict]:
        """What no rule that allows a program can change."""
        spilled = (in_file(spill.rule, spill.part) for spill in findings.spilled)
        own = own_verdicts(findings.runs, self._policy_file)
        verdicts = [*self._rules.verdicts(findings.runs), *own, *spilled]
        if findings.names_secret:
            verdicts += breaches(findings, self._consumes)
        return [*verdicts, *map(_of_doubt, findings.doubts)]

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
    walk.findings.written = walk.files.written
    return walk.findings


_UNREADABLE = Reach(frozenset({Need.UNREADABLE}), plain_readers=False)


@cache
def _shipped_consumers() -> AllowList:
    """What may be given a secret where a policy lists nothing itself."""
    shipped = Site().for_host()
    return AllowList(shipped.allowances, shipped.territory, shipped.variables, shipped.programs)


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
