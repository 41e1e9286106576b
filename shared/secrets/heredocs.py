"""Here-documents: where one begins, what ends it, and whether its text is expanded."""

import re
from dataclasses import dataclass

_ANNOUNCED = re.compile(
    r"<<(?P<tabs>-?)[ \t]*(?P<word>(?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s;&|()<>'\"\\])+)"
)
_QUOTES = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"|\\(.)")


@dataclass(frozen=True, slots=True)
class Heredoc:
    """One `<<MARK`; `end` is the end of that word."""

    mark: str
    quoted: bool
    tabs: bool
    end: int

    def body_end(self, text: str, begin: int) -> int:
        """The start of the line with its mark; the end of the text if there is none."""
        at = begin
        while at < len(text):
            newline = text.find("\n", at)
            line = text[at : newline if newline >= 0 else len(text)]
            if (line.lstrip("\t") if self.tabs else line) == self.mark:
                return at
            if newline < 0:
                break
            at = newline + 1
        return len(text)


def heredoc_at(text: str, at: int) -> Heredoc | None:
    """The here-document that starts at a position; None for anything else, `<<<` included."""
    if not text.startswith("<<", at) or text.startswith("<<<", at) or text[at - 1 : at] == "<":
        return None
    found = _ANNOUNCED.match(text, at)
    if found is None:
        return None
    word = found["word"]
    mark = _QUOTES.sub(lambda part: part[1] or part[2] or part[3] or "", word)
    return Heredoc(mark, mark != word, bool(found["tabs"]), found.end())
