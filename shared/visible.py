"""Text of hosts, models and people as it may be shown: what nobody sees is written out.

Whatever prints, logs or writes text for people passes it through `visible`; the command line does
so in its only console, the logs in their only formatter.
"""

import codecs
import re
from collections.abc import Callable

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
r"""Control and format characters but `\n` and `\t`, and letters that are blank.

What joins letters (U+200C, U+200D) stays between two that are not ASCII: there it has a meaning.
"""


def visible(text: str) -> str:
    r"""The text with what moves, hides or reorders other text written out: `\u001b`.

    The form is that of JSON, so JSON stays the same value. `\r\n` becomes `\n`.
    """
    return _UNSAFE.sub(_written_out, text.replace("\r\n", "\n"))


def visible_yaml(dump: Callable[[bool], str]) -> str:
    """YAML that `visible` does not change: `dump(allow_unicode)` writes it.

    Where it holds what has to be written out, YAML's own escapes keep the value.
    """
    text = dump(True)
    return text if visible(text) == text else dump(False)


def _written_out(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def can_write_all(stream: object) -> bool:
    """Whether the stream can encode every character."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return codecs.lookup(encoding).name.startswith("utf")
