"""What an agent said and did, in words."""

import json
from collections.abc import Iterator
from typing import Final

from orchestrator.words.quantities import brief, count_of
from shared.domain.transcript import Transcript, TranscriptKind, TranscriptLine
from shared.wire import from_json

_MAIN: Final = ("command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url")
"""The arguments that say most about the use of a tool."""

_LINES: Final = 3
"""Lines of a tool's result that are shown, unless all of it is."""


def tell_transcript(transcript: Transcript, *, whole: bool = False) -> Iterator[str]:
    """The lines in words; `whole` cuts none of them."""
    for number, line in enumerate(transcript.lines):
        if number == transcript.head and transcript.left_out:
            yield f"… {count_of(transcript.left_out, 'line')} not kept"
        yield tell_line(line, whole=whole)


def tell_event(written: str) -> str:
    """A line as its agent's driver wrote it, in words. Raises ValueError for a part of one."""
    return tell_line(from_json(TranscriptLine, json.loads(written)))


def tell_line(line: TranscriptLine, *, whole: bool = False) -> str:
    """A line in words; it may have several lines itself."""
    text = line.text + (f"… ({line.cut} more characters)" if line.cut else "")
    match line.kind:
        case TranscriptKind.SAID:
            return text.strip()
        case TranscriptKind.CALLED:
            return f"→ {line.tool}: {text if whole else brief(_arguments(text), 200)}"
        case TranscriptKind.RETURNED:
            mark = "← failed" if line.failed else "←"
            return f"{mark} {text.strip() if whole else _beginning(text)}".rstrip()
        case TranscriptKind.ASKED:
            return f"? {text}"
        case TranscriptKind.RETRIED:
            return f"! {_retry(line)}"
        case TranscriptKind.ENDED:
            return f"{'✗' if line.failed else '✓'} {text}".rstrip()
        case TranscriptKind.UNREADABLE:
            return f"  {text}"


def _arguments(text: str) -> str:
    """What says most in the arguments of a tool; all of them if nothing does."""
    try:
        given = json.loads(text)
    except ValueError:
        return text
    if not isinstance(given, dict):
        return text
    return next((each for name in _MAIN if isinstance(each := given.get(name), str)), text)


def _beginning(text: str) -> str:
    lines = text.strip().splitlines()
    more = f"\n  … {count_of(len(lines) - _LINES, 'more line')}" if len(lines) > _LINES else ""
    return "\n  ".join(brief(line, 200) for line in lines[:_LINES]) + more


def _retry(line: TranscriptLine) -> str:
    answered = "gave no answer" if line.status is None else f"answered {line.status}"
    of = f" of {line.of}" if line.of else ""
    return f"its model {answered}" + (f": retry {line.attempt}{of}" if line.attempt else "")
