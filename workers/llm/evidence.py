"""The evidence as a model reads it: cleaned, capped with what failed kept, set apart as data."""

import hashlib
import re

from shared.domain.attempt import GREEN
from shared.domain.bundle import Bundle, LoggedAttempt, LoggedSubtask

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Control and format characters: they say nothing to a person, and can hide text from one."""

_GREEN = frozenset(outcome.value for outcome in GREEN)
_TIERS = ((6000, 1500), (3000, 600), (1200, 200), (500, 0), (200, 0))
"""How many characters of each stream are kept of failed and of green attempts, widest first."""

_SNAPSHOT_CHARS = 1500
_COMMAND_CHARS = 3000


def clean(text: str) -> str:
    """The text without escape sequences and without characters that cannot be seen.

    A line that was written over (progress bars do this) is as it looked at the end.
    """
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    shown = (line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines)
    return _UNSEEN.sub("", "\n".join(shown))


def cut(text: str, limit: int) -> str:
    """The text, or its beginning and, mostly, its end, in about `limit` characters."""
    if len(text) <= limit:
        return text
    head = limit // 4
    tail = limit - head
    left_out = f"\n[… {len(text) - limit} characters left out …]\n"
    return text[:head].rstrip() + left_out + text[len(text) - tail :].lstrip()


def set_apart(name: str, text: str) -> str:
    """The text between two marks that it cannot contain: the mark is made from its own digest."""
    mark = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return f"<{mark}>\n{text}\n</{mark}>"


def evidence(bundle: Bundle, *, limit: int) -> str:
    """The bundle in at most `limit` characters.

    What failed is kept longest, and of it the end of its output; what went well is shortened first.
    When even that is too much, the oldest attempts but the first failed one are left out. A very
    long plan or snapshot is shortened itself: half of the room is the attempts'.
    """
    before, after = _before(bundle), _after(bundle)
    if len(before) + len(after) + len(_attempts(bundle.attempts, limit)) > limit - 400:
        before, after = cut(before, limit // 4), cut(after, limit // 4)
    room = limit - len(before) - len(after) - 400
    text = "\n\n".join((before, _attempts(bundle.attempts, room), after))
    return cut(text, max(limit - 80, 0)) if len(text) > limit else text


def _attempts(attempts: tuple[LoggedAttempt, ...], room: int) -> str:
    if not attempts:
        return "Attempts: none"
    for failed, green in _TIERS:
        blocks = [_attempt(a, green if a.outcome in _GREEN else failed) for a in attempts]
        text = "\n".join(("Attempts, oldest first:", *blocks))
        if len(text) <= room:
            return text
    return _newest(attempts, room)


def _newest(attempts: tuple[LoggedAttempt, ...], room: int) -> str:
    first = next((a for a in attempts if a.outcome not in _GREEN), attempts[0])
    kept: list[str] = []
    used = len(_attempt(first, 200))
    for attempt in reversed(attempts):
        block = _attempt(attempt, 200)
        if attempt is first or (kept and used + len(block) > room):
            break
        kept.append(block)
        used += len(block) + 1
    left_out = len(attempts) - len(kept) - 1
    told = [f"[… {left_out} attempts left out …]"] if left_out > 0 else []
    return "\n".join(("Attempts, oldest first:", _attempt(first, 200), *told, *reversed(kept)))


def _attempt(attempt: LoggedAttempt, limit: int) -> str:
    exited = "ended" if attempt.exit_code is None else f"exit {attempt.exit_code}"
    heading = (
        f"- {attempt.ref} (subtask {attempt.subtask}): {attempt.outcome}, {exited}, "
        f"retry {attempt.retry_count}, {attempt.started_at} to {attempt.ended_at}"
    )
    parts = [clean(heading), f"  $ {_inside(attempt.command, _COMMAND_CHARS)}"]
    if attempt.rollback:
        parts.append("  a rollback: it undoes what that subtask of an earlier revision did")
    if attempt.correction:
        parts.append(f"  corrected by: {clean(attempt.correction)}")
    if attempt.reason:
        parts.append(f"  reason: {_inside(attempt.reason, 500)}")
    for name, output in (("stdout", attempt.stdout), ("stderr", attempt.stderr)):
        if limit and output.strip():
            parts.append(f"  {name}: {_inside(output, limit)}")
    if attempt.check_command is not None and attempt.check_exit_code is not None:
        parts.append(
            f"  check (exit {attempt.check_exit_code}) $ {_inside(attempt.check_command, 1000)}"
        )
        if limit and attempt.check_output.strip():
            parts.append(f"  check output: {_inside(attempt.check_output, limit)}")
    return "\n".join(parts)


def _before(bundle: Bundle) -> str:
    lines = [
        f"Step {bundle.step_ref} on {bundle.target}: {_line(bundle.step_title)}",
        f"Instruction: {_inside(bundle.step_instruction, 4000) or '(none)'}",
        f"Revision that failed: {bundle.revision}",
        f"Why it comes back to you: {_inside(bundle.reason, 1000)}",
        "",
        "Subtasks as planned, in order:",
        *(_subtask(subtask) for subtask in bundle.subtasks),
    ]
    return "\n".join(lines)


def _subtask(subtask: LoggedSubtask) -> str:
    parts = [
        f"{subtask.ordinal}. {_line(subtask.key)}: {_line(subtask.title)}",
        f"  [{_line(subtask.status)}, timeout {subtask.timeout:g} s]",
        f"  $ {_inside(subtask.command, _COMMAND_CHARS)}",
    ]
    if subtask.check is not None:
        parts.append(f"  check $ {_inside(subtask.check, 1000)}")
    parts.extend(f"  precondition $ {_inside(text, 500)}" for text in subtask.preconditions)
    if subtask.needs:
        parts.append(f"  needs: {', '.join(map(_line, subtask.needs))}")
    if subtask.rollback is not None:
        ran = "it ran" if subtask.ran else "it did not run"
        parts.append(f"  rollback ({ran}) $ {_inside(subtask.rollback, 500)}")
    return "\n".join(parts)


def _after(bundle: Bundle) -> str:
    snapshot = [f"[{_line(k)}]\n{_block(v, _SNAPSHOT_CHARS)}" for k, v in bundle.snapshot.items()]
    config = [f"- {_line(k)}: {_inside(v, 500)}" for k, v in bundle.config.items()]
    host = [f"- {_line(k)}: {_inside(v, 500)}" for k, v in bundle.host.items()]
    parts = (
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
    return [f"- {_inside(text, 2000)}" for text in texts]


def _block(text: str, limit: int) -> str:
    return cut(clean(text).strip(), limit)


def _inside(text: str, limit: int) -> str:
    return _block(text, limit).replace("\n", "\n    ")


def _line(text: str) -> str:
    return " ".join(_block(text, 200).split())
