"""The canonical form of a path, however it is written."""

import re
from dataclasses import dataclass

from shared.guard.words import HOME, Glob, Hole, Piece, Text, Word, literal_word

START = literal_word(".")
"""The directory in which a command starts: unknown, but taken as its proper place to work."""

NOWHERE = Word((Hole(),))
"""An unknown directory."""

_ONLY_WILD = re.compile(r"\.*(?:\*|\?|\[[^\]]*\])+")
_Component = tuple[Piece, ...]


@dataclass(slots=True)
class _Path:
    """`root` is `/`, `~`, `.` (where it started) or `?` (unknown)."""

    root: str
    components: list[_Component]
    stem: _Component = ()  # the text after an unknown root, up to the next slash

    def enter(self, component: _Component) -> None:
        """Go to `component` from here."""
        text = _text(component)
        if text in ("", "."):
            return
        if text == "..":
            self._leave()
        elif any(isinstance(piece, Hole) and not piece.below for piece in component):
            # an unknown part may climb out of everything before it
            last = max(i for i, piece in enumerate(component) if isinstance(piece, Hole))
            self.root, self.components, self.stem = "?", [], component[last + 1 :]
        else:
            self.components.append(component)

    def _leave(self) -> None:
        if self.components and not any(isinstance(p, Hole) for p in self.components[-1]):
            self.components.pop()
        elif self.components or self.root != "/":
            self.root, self.components, self.stem = "?", [], ()

    def word(self) -> Word:
        """The path as a word."""
        pieces: list[Piece] = []
        match self.root:
            case "?":
                pieces += [Hole(), *self.stem]
            case "/":
                pieces.append(Text("/" if not self.components else ""))
            case "~":
                pieces.append(Text(HOME))
            case _:
                pieces.append(Text("."))
        for component in self.components:
            pieces += [Text("/"), *component]
        return _merge(pieces)


def canonical(word: Word, directory: Word = START) -> Word:
    """The path that `word` names in the working directory `directory`.

    Dots and double slashes are removed; an unknown part replaces everything before it.
    """
    known = _known(word, directory)
    return _resolve(word, directory).word() if known is None else literal_word(known)


def whole_directory(word: Word, directory: Word = START) -> Word:
    """The same, but a pattern for all of a directory means the directory: `/etc/*` is `/etc`."""
    path = _resolve(word, directory)
    while path.components and _only_wild(path.components[-1]):
        path.components.pop()
    return path.word()


class Places:
    """The places that words name, each computed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Word, Word], tuple[Word, ...]] = {}

    def of(self, word: Word, directory: Word) -> tuple[Word, ...]:
        """The path itself, and the directory if it names everything in one."""
        key = (word, directory)
        found = self._known.get(key)
        if found is None:
            found = (canonical(word, directory),)
            if found[0].literal is None:
                found = (*found, whole_directory(word, directory))
            self._known[key] = found
        return found


def _known(word: Word, directory: Word) -> str | None:
    """The path of a word that is known, in a directory that is known; None for all others."""
    text, here = word.literal, directory.literal
    if text is None or here is None or word is directory or "proc" in here:
        return None
    root, _, rest = text.partition("/")
    if root not in ("", HOME) or (not root and text[:1] != "/"):
        root, _, above = here.partition("/")
        if root not in ("", ".", HOME) or not here:
            return None
        rest = f"{above}/{text}"
    names: list[str] = []
    for name in rest.split("/"):
        if name == "..":
            if not names and root:
                return None
            del names[-1:]
        elif name not in ("", "."):
            names.append(name)
    if not root and names[:1] == ["proc"] and names[2:3] == ["root"]:
        return None
    return "/".join((root, *names)) if root or names else "/"


def _resolve(word: Word, directory: Word) -> _Path:
    path = _enter(word, directory)
    names = [_text(component) for component in path.components[:3]]
    if path.root == "/" and names[:1] == ["proc"] and names[2:] == ["root"]:
        del path.components[:3]  # /proc/self/root is the root directory
    return path


def _enter(word: Word, directory: Word) -> _Path:
    components = _split(word)
    first = components[0]
    if not _text(first) and first == () and len(components) > 1:
        path = _Path("/", [])
    elif _text(first) == HOME:
        path = _Path("~", [])
        components = components[1:]
    elif word is directory:
        path = _Path(".", [])
    elif word.pieces and isinstance(word.pieces[0], Hole):
        path = _Path("?", [])
    else:
        path = _resolve(directory, directory)
    for component in components:
        path.enter(component)
    return path


def _split(word: Word) -> list[_Component]:
    components: list[list[Piece]] = [[]]
    for piece in word.pieces:
        if isinstance(piece, Hole):
            components[-1].append(piece)
            continue
        text = piece.value if isinstance(piece, Text) else piece.pattern
        for index, part in enumerate(text.split("/")):
            if index:
                components.append([])
            if part:
                components[-1].append(Glob(part) if _wild(piece, part) else Text(part))
    return [tuple(component) for component in components]


def _wild(piece: Piece, part: str) -> bool:
    return isinstance(piece, Glob) and any(sign in part for sign in "*?[]")


def _text(component: _Component) -> str | None:
    texts = [piece.value for piece in component if isinstance(piece, Text)]
    return "".join(texts) if len(texts) == len(component) else None


def _only_wild(component: _Component) -> bool:
    if not any(isinstance(piece, Glob) for piece in component):
        return False
    shape = ""
    for piece in component:
        match piece:
            case Glob(pattern):
                shape += pattern
            case Text(value) if set(value) == {"."}:
                shape += value
            case _:
                return False
    return _ONLY_WILD.fullmatch(shape) is not None


def _merge(pieces: list[Piece]) -> Word:
    merged: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Text) and merged and isinstance(merged[-1], Text):
            merged[-1] = Text(merged[-1].value + piece.value)
        elif not (isinstance(piece, Text) and not piece.value):
            merged.append(piece)
    return Word(tuple(merged or [Text("")]))
