"""What `find` runs, and which programs besides `rm` delete whole directories."""

import re
from dataclasses import dataclass

from shared.guard.words import Hole, Text, Word, literal_word

_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_VALUED = frozenset(
    [
        "-maxdepth",
        "-mindepth",
        "-type",
        "-xtype",
        "-fstype",
        "-D",
        "-printf",
        "-regextype",
        "-files0-from",
    ]
)
_TRIES_ONLY = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*|--dry-run")
_SELECTS_NOTHING = _VALUED | frozenset(
    [
        "-xdev",
        "-mount",
        "-depth",
        "-d",
        "-delete",
        "-print",
        "-print0",
        "-ls",
        "-follow",
        "-noleaf",
        "-H",
        "-L",
        "-P",
        "-E",
        "-X",
        "-x",
        "-ignore_readdir_race",
        "-true",
        "-a",
        "-and",
    ]
)


@dataclass(frozen=True, slots=True)
class Search:
    """What find was asked.

    `starts` are the directories, `runs` the commands for each match; `all` is False where a test
    picks out some of what is found; `deletes` says that matches are deleted.
    """

    starts: tuple[Word, ...]
    runs: tuple[tuple[Word, ...], ...]
    deletes: bool
    all: bool


def search(words: tuple[Word, ...]) -> Search:
    """Read the arguments of find."""
    at = 0
    while at < len(words) and words[at].literal in ("-H", "-L", "-P", "--"):
        at += 1
    starts = []
    while at < len(words) and not words[at].prefix.startswith(("-", "(", "!", ",")):
        starts.append(words[at])
        at += 1
    found = starts or [literal_word(".")]
    runs = []
    everything = True
    deletes = False
    while at < len(words):
        text = words[at].literal
        if text in _RUNS:
            end = _end_of_run(words, at + 1)
            runs.append(_for_each(words[at + 1 : end], found, in_place=text.endswith("dir")))
            at = end
        elif text == "-delete":
            deletes = True
        elif text in _VALUED:
            at += 1
        elif text not in _SELECTS_NOTHING:
            everything = False
        at += 1
    return Search(tuple(found), tuple(runs), deletes, everything)


def deletions(program: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The directories of which a program other than rm deletes all, or nearly all."""
    if program == "rsync" and any(_TRIES_ONLY.fullmatch(str(word)) for word in words):
        return ()
    if program == "rsync" and any(word.prefix.startswith("--del") for word in words):
        return tuple(word for word in words if not word.prefix.startswith("-"))[-1:]
    if program != "find":
        return ()
    found = search(words)
    removes = any(run and str(run[0]).rpartition("/")[2] == "rm" for run in found.runs)
    return found.starts if found.all and (found.deletes or removes) else ()


def _end_of_run(words: tuple[Word, ...], start: int) -> int:
    for index in range(start, len(words)):
        text = words[index].literal
        if text == ";" or (text == "+" and words[index - 1].literal == "{}"):
            return index
    return len(words)


def _for_each(words: tuple[Word, ...], starts: list[Word], *, in_place: bool) -> tuple[Word, ...]:
    below = Hole(below=True)
    if in_place or len(starts) > 1:
        match = Word((Text("./"), below)) if in_place else Word((Hole(),))
    else:
        slash = () if starts[0].prefix.endswith("/") else (Text("/"),)
        match = Word((*starts[0].pieces, *slash, below))
    return tuple(_replace(word, match) for word in words)


def _replace(word: Word, match: Word) -> Word:
    text = word.literal
    if text is None or "{}" not in text:
        return word
    if text == "{}":
        return match
    before, _, after = text.partition("{}")
    return Word((Text(before), Hole(), Text(after)))
