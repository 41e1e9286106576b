"""How the programs in rules spell their options."""

import re
from dataclasses import dataclass, field

from shared.guard.paths import Places
from shared.guard.words import Hole, Word


@dataclass(frozen=True, slots=True)
class Spelling:
    """The options of one program.

    `longs` maps a long name to its letter, `same` a letter to the one it equals, `valued` are the
    letters that take what follows as their value; `words` is True where one dash starts a whole
    word (`find -delete`).
    """

    longs: dict[str, str] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    valued: str = ""
    words: bool = False


_PLAIN = Spelling()
_OWNERSHIP = Spelling({"recursive": "R"})
_IPTABLES = Spelling(
    {"flush": "F", "policy": "P", "delete-chain": "X", "zero": "Z", "table": "t"},
    valued="AtpsdjimoMcINDRE",
)
_POWER = Spelling({"reboot": "r", "halt": "h", "poweroff": "p", "force": "f"})
_WORDS = Spelling(words=True)
_SPELLINGS = {
    "rm": Spelling({"recursive": "r", "force": "f", "dir": "d"}, same={"R": "r"}),
    "chmod": _OWNERSHIP,
    "chown": _OWNERSHIP,
    "chgrp": _OWNERSHIP,
    "cp": Spelling({"recursive": "r"}, same={"R": "r"}, valued="tS"),
    "iptables": _IPTABLES,
    "ip6tables": _IPTABLES,
    "wipefs": Spelling({"all": "a", "force": "f"}, valued="oO"),
    "userdel": Spelling({"remove": "r", "force": "f"}),
    "passwd": Spelling({"delete": "d", "lock": "l", "expire": "e"}),
    "usermod": Spelling({"lock": "L", "expiredate": "e"}, valued="cdefgGlpsu"),
    "crontab": Spelling(valued="u"),
    "shutdown": _POWER,
    "reboot": _POWER,
    "halt": _POWER,
    "poweroff": _POWER,
    "docker": Spelling({"force": "f", "all": "a"}),
    "podman": Spelling({"force": "f", "all": "a"}),
    "git": Spelling({"force": "f", "delete": "d"}),
    "psql": Spelling({"command": "c"}, valued="cdfFhLopPRTUv"),
    "mysql": Spelling({"execute": "e"}, valued="eDhPS"),
    "rsync": Spelling({"recursive": "r", "archive": "a"}),
    "find": _WORDS,
    "openssl": _WORDS,
    "java": _WORDS,
    "terraform": _WORDS,
}
_BUNDLE = re.compile(r"-[A-Za-z0-9#?@%]+")
_EVERYBODY = re.compile(r"0*777|(?:[aA]|[ugo]{3})?[+=](?=[rwxX]{3})(?=.*r)(?=.*w)(?=.*[xX]).{3}")


def spelling(program: str) -> Spelling:
    """The options of a program; `iptables-legacy` spells them as `iptables` does."""
    found = _SPELLINGS.get(program)
    if found is None:
        found = _SPELLINGS.get(re.split(r"[-.*]", program, maxsplit=1)[0], _PLAIN)
    return found


def operand_text(program: str, text: str) -> str:
    """The operand in the one form that rules compare: all spellings of mode 777 are one."""
    if program == "chmod" and _EVERYBODY.fullmatch(text):
        return "777"
    return text


@dataclass(frozen=True, slots=True)
class Flag:
    """An option that a rule asks for: its letter, its long name, or its whole word."""

    letter: str = ""
    long: str = ""
    word: str = ""


def flags_of(program: str, word: str) -> tuple[Flag, ...]:
    """What a rule asks for by `-rf`, `--force` or `-delete`; a value after `=` is left out."""
    spelled = spelling(program)
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        return (Flag(letter=spelled.longs.get(name, ""), long=name),)
    if spelled.words:
        return (Flag(word=word),)
    letters = dict.fromkeys(spelled.same.get(letter, letter) for letter in word[1:])
    names = {letter: name for name, letter in reversed(spelled.longs.items())}
    return tuple(Flag(letter=letter, long=names.get(letter, "")) for letter in letters)


@dataclass(frozen=True, slots=True)
class Operand:
    """A word that is not an option; `after_option` says that it may be the value of one."""

    word: Word
    after_option: bool


@dataclass(slots=True)
class Arguments:
    """The words after a program, sorted into options and operands.

    `loose` are those of which it is not known whether they are options, or which. `places` are
    the paths that any of them name.
    """

    letters: set[str] = field(default_factory=set)
    longs: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    operands: list[Operand] = field(default_factory=list)
    loose: list[Word] = field(default_factory=list)
    places: Places = field(default_factory=Places)

    def has(self, flag: Flag) -> bool:
        """Check whether an option is certainly given; long names can be short, as GNU allows."""
        if flag.word:
            return flag.word in self.words
        if flag.letter and flag.letter in self.letters:
            return True
        if not flag.long:
            return False
        return any(given and flag.long.startswith(given) for given in self.longs)


def arguments(program: str, words: tuple[Word, ...]) -> Arguments:
    """Sort the words that follow the program."""
    sorted_words = Arguments()
    spelled = spelling(program)
    options_ended = after_option = takes_value = False
    for word in words:
        prefix = word.prefix
        first = word.pieces[0] if word.pieces else None
        first_unknown = isinstance(first, Hole) and not first.below
        is_value, takes_value = takes_value and not word.splits, False
        if options_ended or len(prefix) == 1 or not (prefix.startswith("-") or first_unknown):
            sorted_words.operands.append(Operand(word, after_option))
            after_option = False
        elif first_unknown and is_value:
            sorted_words.operands.append(Operand(word, after_option=True))
        elif first_unknown:
            sorted_words.loose.append(word)
            sorted_words.operands.append(Operand(word, after_option=True))
        elif word.literal == "--":
            options_ended = True
        else:
            _option(sorted_words, spelled, word, prefix)
            after_option = True
            takes_value = not word.unknown and _waits_for_value(spelled, prefix)
    return sorted_words


def _waits_for_value(spelled: Spelling, option: str) -> bool:
    """Whether the value of a bundle of letters is the next word."""
    if spelled.words or not _BUNDLE.fullmatch(option):
        return False
    valued = [at for at, letter in enumerate(option) if letter in spelled.valued]
    return bool(valued) and valued[0] == len(option) - 1


def _option(into: Arguments, spelled: Spelling, word: Word, prefix: str) -> None:
    if prefix.startswith("--"):
        name, equals, _ = prefix[2:].partition("=")
        if word.unknown and not equals:
            into.loose.append(word)
        else:
            into.longs.add(name)
        return
    if word.unknown:
        into.loose.append(word)
    into.words.add(prefix)
    if spelled.words or not _BUNDLE.fullmatch(prefix):
        return
    for letter in prefix[1:]:
        into.letters.add(spelled.same.get(letter, letter))
        if letter in spelled.valued:
            break
