"""The evidence as a model reads it: cleaned, shortened around the failures, marked as data."""

import re
from collections.abc import Iterable
from enum import Enum

from shared.domain.bundle import Bundle, LoggedAttempt, LoggedSubtask, Progress
from shared.domain.cause import Cause, describe_cause
from shared.domain.outcome import GREEN
from workers.llm.agent_evidence import describe_agent, describe_work

EVIDENCE_CHARS = 60_000
"""The maximum of characters of a bundle that a model reads."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Control and format characters: they mean nothing to a person and can hide text."""

_GREEN = frozenset(outcome.value for outcome in GREEN)
_TIERS = ((6000, 1500), (3000, 600), (1200, 200), (500, 0), (200, 0))
"""Characters kept of each stream of failed and of green attempts, widest tier first."""

_PROBES = (3000, 800, 150)
"""Characters kept of each probe of the machine's state, widest tier first."""

_HOPELESS = 4
"""A text longer than this many times the room is not built: cleaning cannot shorten it enough."""

_FAR = 8
"""In an output longer than this many times its limit, the middle is not even cleaned."""

_MOST_CAUSES = 20
_JOINTS = 400
_COMMAND_CHARS = 3000
_HEADING = "Attempts, oldest first:"
_UNTRIED = frozenset(Progress)


class _Rest(Enum):
    """How much the evidence says about subtasks that did not fail."""

    WHOLE = "all of it"
    BRIEF = "a line"
    COUNT = "how many they are"


def clean(text: str) -> str:
    """The text without escape sequences and invisible characters.

    A line that was overwritten (as progress bars do) is shown in its final form.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    shown = (line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines)
    return _UNSEEN.sub("", "\n".join(shown))


def cut(text: str, limit: int) -> str:
    """The text, or its start and, mostly, its end, in about `limit` characters."""
    if len(text) <= limit:
        return text
    head = limit // 4
    tail = limit - head
    left_out = f"\n[… {len(text) - limit} characters left out …]\n"
    return text[:head].rstrip() + left_out + text[len(text) - tail :].lstrip()


def evidence(bundle: Bundle, *, limit: int = EVIDENCE_CHARS) -> str:
    """The bundle in at most `limit` characters.

    Failures are kept longest: the failed subtasks of the plan, the end of the output of a failed
    attempt, and of many attempts the first failed one and then the newest failed ones. Successful
    subtasks, subtasks not reached and the state of the machine are shortened first.
    """
    before, after = _before(bundle, _Rest.WHOLE), _after(bundle, _PROBES[0])
    room = limit - len(before) - len(after) - _JOINTS
    attempts = _attempts(bundle.attempts, room, _TIERS[:1])
    if attempts is None:
        before = _fit(limit // 4, (_before(bundle, rest) for rest in _Rest))
        after = _fit(limit // 4, (_after(bundle, chars) for chars in _PROBES))
        room = limit - len(before) - len(after) - _JOINTS
        attempts = _attempts(bundle.attempts, room, _TIERS) or _choose(bundle.attempts, room)
    text = f"{before}\n\n{attempts}\n\n{after}"
    return cut(text, max(limit - 80, 0)) if len(text) > limit else text


def _fit(limit: int, forms: Iterable[str]) -> str:
    """The first form that fits, or else the last form, shortened."""
    text = ""
    for text in forms:
        if len(text) <= limit:
            return text
    return cut(text, limit)


def _attempts(
    attempts: tuple[LoggedAttempt, ...], room: int, tiers: Iterable[tuple[int, int]]
) -> str | None:
    """All attempts in the widest tier that fits; None if no tier fits."""
    if not attempts:
        return "Attempts: none"
    for failed, green in tiers:
        limits = [green if a.outcome in _GREEN else failed for a in attempts]
        if _at_most(attempts, limits) > _HOPELESS * room:
            continue
        blocks = [_attempt(a, limit) for a, limit in zip(attempts, limits, strict=True)]
        text = "\n".join((_HEADING, *blocks))
        if len(text) <= room:
            return text
    return None


def _at_most(attempts: tuple[LoggedAttempt, ...], limits: list[int]) -> int:
    """The length if cleaning removed nothing, so that far too long a text is not even built."""
    return sum(
        min(len(output), limit)
        for a, limit in zip(attempts, limits, strict=True)
        for output in (a.command, a.stdout, a.stderr, a.check_output)
    )


def _choose(attempts: tuple[LoggedAttempt, ...], room: int) -> str:
    """As many attempts as fit: the first failed one, then other failures, then the rest.

    Newer attempts are preferred. Those chosen are listed in their original order.
    """
    newest = sorted(range(len(attempts)), key=lambda at: (attempts[at].outcome in _GREEN, -at))
    failed = [at for at in newest if attempts[at].outcome not in _GREEN]
    first = failed[-1] if failed else newest[-1]
    kept: dict[int, str] = {}
    used = len(_HEADING) + 60
    for at in dict.fromkeys((first, *newest)):
        block = _attempt(attempts[at], 200)
        if len(kept) > 1 and used + len(block) > room:
            break
        kept[at] = block
        used += len(block) + 1
    left_out = len(attempts) - len(kept)
    told = [f"[… {left_out} attempts left out …]"] if left_out else []
    return "\n".join((_HEADING, *told, *(kept[at] for at in sorted(kept))))


def _attempt(attempt: LoggedAttempt, limit: int) -> str:
    exited = "ended" if attempt.exit_code is None else f"exit {attempt.exit_code}"
    heading = (
        f"- {attempt.ref} (subtask {attempt.subtask}): {attempt.outcome}, {exited}, "
        f"retry {attempt.retry_count}, {attempt.started_at} to {attempt.ended_at}"
    )
    mark = "$" if attempt.agent is None else "goal:"
    parts = [clean(heading), f"  {mark} {_indent(attempt.command, _COMMAND_CHARS)}"]
    if attempt.agent is not None:
        parts += [f"  {_indent(line, 2000)}" for line in describe_agent(attempt.agent)]
    if attempt.rollback:
        parts.append("  a rollback: it undoes what that subtask of an earlier revision did")
    if attempt.correction and attempt.agent is None:
        parts.append(f"  corrected by: {clean(attempt.correction)}")
    if attempt.reason:
        parts.append(f"  reason: {_indent(attempt.reason, 500)}")
    if attempt.left_running:
        parts.append(f"  {_indent(attempt.left_running, 500)}")
    said = "stdout" if attempt.agent is None else "what it says of it"
    for name, output in ((said, attempt.stdout), ("stderr", attempt.stderr)):
        if limit and output.strip():
            parts.append(f"  {name}: {_indent(output, limit)}")
    if attempt.check_command is not None and attempt.check_exit_code is not None:
        parts.append(
            f"  check (exit {attempt.check_exit_code}) $ {_indent(attempt.check_command, 1000)}"
        )
        if limit and attempt.check_output.strip():
            parts.append(f"  check output: {_indent(attempt.check_output, limit)}")
    return "\n".join(parts)


def _before(bundle: Bundle, rest: _Rest) -> str:
    lines = [
        f"Step {bundle.step_ref} on {bundle.target}: {_line(bundle.step_title)}",
        f"Instruction: {_indent(bundle.step_instruction, 4000) or '(none)'}",
        f"Revision that failed: {bundle.revision}",
        f"Why it comes back to you: {_indent(bundle.reason, 1000)}",
        *_causes(bundle),
        "",
        "Subtasks as planned, in order:",
        *_subtask_lines(bundle.subtasks, rest),
    ]
    return "\n".join(lines)


def _causes(bundle: Bundle) -> list[str]:
    """What the host says is wrong, as data: names and lines of logs are the host's own words."""
    if not bundle.causes:
        return []
    shown = bundle.causes[:_MOST_CAUSES]
    told = [f"- {_led_by(each)}{_indent(describe_cause(each), 600)}" for each in shown]
    return ["", "What is wrong on the machine, as it says itself:", *told]


def _led_by(cause: Cause) -> str:
    return f"subtask {cause.subtask}: " if cause.subtask else ""


def _subtask_lines(subtasks: tuple[LoggedSubtask, ...], rest: _Rest) -> list[str]:
    if rest is _Rest.WHOLE:
        return [_subtask(subtask) for subtask in subtasks]
    failed = {s.ordinal for s in subtasks if s.status not in _UNTRIED}
    if rest is _Rest.BRIEF:
        return [_subtask(s) if s.ordinal in failed else _brief(s) for s in subtasks]
    others = [f"[… {len(subtasks) - len(failed)} that did not fail are left out …]"]
    return [_subtask(s) for s in subtasks if s.ordinal in failed] + others


def _brief(subtask: LoggedSubtask) -> str:
    command = f"{_mark(subtask)} {_line(subtask.command)[:80]}"
    return f"{subtask.ordinal}. {_line(subtask.key)} [{_line(subtask.status)}] {command}"


def _mark(subtask: LoggedSubtask) -> str:
    """What stands before a command, or before the goal of an agent."""
    return "$" if subtask.agent is None else "goal:"


def _subtask(subtask: LoggedSubtask) -> str:
    parts = [
        f"{subtask.ordinal}. {_line(subtask.key)}: {_line(subtask.title)}",
        f"  [{_line(subtask.status)}, timeout {subtask.timeout:g} s]",
        f"  {_mark(subtask)} {_indent(subtask.command, _COMMAND_CHARS)}",
    ]
    if subtask.agent is not None:
        parts += [f"  {_indent(line, 500)}" for line in describe_work(subtask.agent)]
    if subtask.check is not None:
        parts.append(f"  check $ {_indent(subtask.check, 1000)}")
    parts.extend(f"  precondition $ {_indent(text, 500)}" for text in subtask.preconditions)
    if subtask.needs:
        parts.append(f"  needs: {', '.join(map(_line, subtask.needs))}")
    if subtask.rollback is not None:
        ran = "it ran" if subtask.ran else "it did not run"
        parts.append(f"  rollback ({ran}) $ {_indent(subtask.rollback, 500)}")
    return "\n".join(parts)


def _after(bundle: Bundle, probe_chars: int) -> str:
    snapshot = [f"[{_line(k)}]\n{_block(v, probe_chars)}" for k, v in bundle.snapshot.items()]
    config = [f"- {_line(k)}: {_indent(v, 500)}" for k, v in bundle.config.items()]
    host = [f"- {_line(k)}: {_indent(v, 500)}" for k, v in bundle.host.items()]
    parts = (
        ("Deliveries of this step that came back", _items(bundle.rejections)),
        ("What the executor tried by itself", _items(bundle.hypotheses)),
        ("Assumptions of the plan that proved wrong", _items(bundle.failed_assumptions)),
        ("Earlier revisions of this step", _items(bundle.earlier_revisions)),
        ("The steps of the task", _items(bundle.plan)),
        ("The way to the machine", host),
        ("State of the machine", snapshot),
        ("Configuration", config),
    )
    return "\n\n".join("\n".join((f"{title}:", *lines)) for title, lines in parts if lines)


def _items(texts: tuple[str, ...]) -> list[str]:
    return [f"- {_indent(text, 2000)}" for text in texts]


def _block(text: str, limit: int) -> str:
    """The text, cleaned and shortened; of a very long text only the parts to keep are cleaned."""
    if len(text) <= _FAR * limit:
        return cut(clean(text).strip(), limit)
    head, tail = clean(text[: 2 * limit]).lstrip(), clean(text[-6 * limit :]).rstrip()
    left_out = len(text) - limit
    start, end = head[: limit // 4].rstrip(), tail[limit // 4 - limit :].lstrip()
    return f"{start}\n[… {left_out} characters left out …]\n{end}"


def _indent(text: str, limit: int) -> str:
    return _block(text, limit).replace("\n", "\n    ")


def _line(text: str) -> str:
    return " ".join(_block(text, 200).split())
