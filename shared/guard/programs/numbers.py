"""Programs that print nothing but numbers, and filters that let nothing else pass.

Used where a shell evaluates text as arithmetic: what is listed here can hold no code, whatever the
program has read.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from shared.guard.words import Run, Word

_COUNTS = frozenset({"-l", "-c", "-w", "-m", "-L", "--lines", "--bytes", "--words", "--chars"})
_STAT_NUMBERS = re.compile(r"(%[sYXZWabBhiudotTfD]|[0-9 ])+")
_DATE = re.compile(r"\+(%-?[sYymdHMSjuwVUWCgGkIleN]|[0-9])+")
_CONFIGURATION = frozenset({
    *("_NPROCESSORS_ONLN", "_NPROCESSORS_CONF", "NPROCESSORS_ONLN", "PAGESIZE", "PAGE_SIZE"),
    *("_PHYS_PAGES", "_AVPHYS_PAGES", "LONG_BIT", "CLK_TCK", "ARG_MAX", "OPEN_MAX"),
})  # fmt: skip
_DIGITS = re.compile(r"(0-9|\[:digit:\]|[0-9]|\\n| )+")
_ONLY_DIGITS = re.compile(r"\^?(\[0-9\]|\[\[:digit:\]\]|\\d)([+*]|\\\+|\{[0-9,]+\})?\$?")
_FILTERS = frozenset({"head", "tail", "sort", "uniq", "cat", "tac"})


def prints_numbers(program: str, words: Sequence[Word], given: Word | None) -> bool:
    """Whether a program with these arguments prints numbers and nothing else.

    `given` is its input, None when that is not known. Blanks and line breaks may stand between.
    """
    prints = _PRINTERS.get(program)
    if prints is None and program not in _FILTERS:
        return False
    texts = [word.literal for word in words]
    options = [word for word in words if word.prefix.startswith("-") and len(word.prefix) > 1]
    operands = [word for word in words if word not in options]
    if program in _FILTERS and given is not None and given.numeric:
        return all(text is not None and re.fullmatch(r"-[A-Za-z]?[0-9]*|[0-9]+", text)
                   for text in texts)  # fmt: skip
    if prints is None or any(option.literal is None for option in options):
        return False
    values = {after for word, after in pairwise(words) if word.literal == "-d"}
    given_there = values if program == "date" else set()
    if any(not word.prefix and not word.numeric and word not in given_there for word in operands):
        return False  # it may be an option at run time, such as another format
    return prints([str(option) for option in options], operands)


def _wc(options: list[str], operands: list[Word]) -> bool:
    return not operands and len(options) == 1 and options[0] in _COUNTS


def _grep(options: list[str], operands: list[Word]) -> bool:
    """`grep -c PATTERN [FILE]`, whose count bears no name, and `grep -o` of digits alone."""
    letters = "".join(option[1:] for option in options if not option.startswith("--"))
    longs = [option for option in options if option.startswith("--")]
    if any(option != "--count" for option in longs) or set(letters) - set("cinvwxqsEFPoh"):
        return False
    if "c" in letters or longs:
        files = operands[1:]
        return len(files) <= 1 and not any(_may_be_several(word) for word in files)
    pattern = operands[0].literal if operands else None
    return (
        "o" in letters
        and "h" in letters + "h" * (len(operands) <= _PATTERN_AND_FILE)
        and pattern is not None
        and _ONLY_DIGITS.fullmatch(pattern) is not None
        and not any(_may_be_several(word) for word in operands[1:])
        and "n" not in letters
        and "v" not in letters
    )


_PATTERN_AND_FILE = 2
_LEFT_OPERATOR_RIGHT = 3


def _may_be_several(word: Word) -> bool:
    """Whether a word may become several files: grep then prints their names."""
    return word.splits or word.literal is None


def _ps(options: list[str], operands: list[Word]) -> bool:
    """`ps -o pid= -C NAME`: a single column of numbers without a heading."""
    valued = [option for option in options if option in ("-o", "-C", "-u", "-p")]
    if len(valued) != len(operands) or valued.count("-o") != 1:
        return False
    column = operands[valued.index("-o")].literal
    plain = set(options) <= {*valued, "-e", "-A", "--no-headers"}
    return plain and column in ("pid=", "ppid=")


def _id(options: list[str], operands: list[Word]) -> bool:
    del operands
    return bool(options) and all(option in ("-u", "-g", "-r") for option in options)


def _date(options: list[str], operands: list[Word]) -> bool:
    if any(option != "-u" for option in options) and not _dated(options):
        return False
    formats = [word for word in operands if word.prefix.startswith("+")]
    text = formats[0].literal if len(formats) == 1 else None
    return text is not None and _DATE.fullmatch(text) is not None


def _dated(options: list[str]) -> bool:
    return all(option in ("-u", "-d") or option.startswith("--date=") for option in options)


def _stat(options: list[str], operands: list[Word]) -> bool:
    """`stat -c %s FILE`: a format of numbers alone."""
    texts = [str(word) for word in operands]
    attached = [option.partition("=")[2] for option in options if option.startswith("--format=")]
    attached += texts[:1] if "-c" in options else []
    plain = all(o in ("-c", "-L") or o.startswith("--format=") for o in options)
    return plain and len(attached) == 1 and _STAT_NUMBERS.fullmatch(attached[0]) is not None


def _tr(options: list[str], operands: list[Word]) -> bool:
    """`tr -dc 0-9`: whatever comes in, digits go out."""
    letters = {letter for option in options for letter in option[1:]}
    kept = operands[0].literal if len(operands) == 1 else None
    return (
        "d" in letters
        and bool(letters & {"c", "C"})
        and letters <= {"d", "c", "C"}
        and kept is not None
        and _DIGITS.fullmatch(kept) is not None
    )


def _expr(options: list[str], operands: list[Word]) -> bool:
    """`expr A + B`: it calculates, or fails; with a single operand it would print that."""
    operators = [word.literal for word in operands[1::2]]
    return (
        not options
        and len(operands) == _LEFT_OPERATOR_RIGHT
        and all(operator in ("+", "-", "*", "/", "%") for operator in operators)
        and not any(word.splits and not word.numeric for word in operands)
    )


def _seq(options: list[str], operands: list[Word]) -> bool:
    if not all(word.literal is not None or word.numeric for word in operands):
        return False
    return all(option == "-w" or re.fullmatch(r"-[0-9]+", option) for option in options)


def _awk(options: list[str], operands: list[Word]) -> bool:
    """A few programs that only count: `awk 'END{print NR}'`."""
    text = operands[0].literal if operands else None
    if text is not None and _PRINTS_A_FIELD.fullmatch(text) and _kernel(options, operands[1:]):
        return True
    plain = text is not None and re.fullmatch(
        r"\s*END\s*\{\s*print\s+(NR|\w+\s*\+\s*0)\s*;?\s*\}\s*", text
    )
    return not options and bool(plain)


def _jq(options: list[str], operands: list[Word]) -> bool:
    text = operands[0].literal if operands else None
    return all(option in ("-r", "-s", "-c") for option in options) and bool(
        text is not None and re.fullmatch(r"[.\w\[\]| ]*\|\s*length\s*|\s*length\s*", text)
    )


def _curl(options: list[str], operands: list[Word]) -> bool:
    """`curl -s -o /dev/null -w '%{http_code}' URL`: the page itself goes nowhere."""
    texts = [str(word) for word in operands]
    formats = [text for text in texts if text.startswith("%{")]
    rest = [text for text in texts if text not in ("/dev/null", *formats) and not text.isdigit()]
    return (
        any(re.fullmatch(r"-[a-zA-Z]*o|--output", option) for option in options)
        and any(re.fullmatch(r"-[a-zA-Z]*w|--write-out", option) for option in options)
        and texts.count("/dev/null") == 1
        and len(rest) == 1
        and len(formats) == 1
        and re.fullmatch(r"(%\{(http_code|response_code)\}|\\n)+", formats[0]) is not None
    )


_PID_FILE = re.compile(r"(?:/var)?/run/(?:[\w@-]+/)?[\w@.-]+\.pid")
_KERNEL = re.compile(
    r"/proc/(meminfo|loadavg|uptime|sys/(vm|fs|net)/[\w/-]+)|/sys/class/net/\w+/mtu"
)
_PRINTS_A_FIELD = re.compile(
    r"[^\"'\\{}]*\{\s*print\s+(int\()?\$\d[-+*/0-9. ()]*\s*(;\s*exit\s*)?\}"
)


def _kernel(options: list[str], operands: list[Word]) -> bool:
    """`cat /proc/sys/vm/swappiness`: files of the kernel in which stand only numbers and units."""
    return (
        not options
        and bool(operands)
        and all(
            _KERNEL.fullmatch(word.literal or "") or _PID_FILE.fullmatch(word.literal or "")
            for word in operands
        )
    )


def _systemctl(options: list[str], operands: list[Word]) -> bool:
    """`systemctl show -p MainPID --value UNIT`: a number alone."""
    texts = [word.literal for word in operands]
    attached = [o.partition("=")[2] for o in options if o.startswith("--property=")]
    attached += [o[2:] for o in options if re.fullmatch(r"-p\w+", o)]
    attached += [text or "" for text in texts[1:2] if "-p" in options]
    plain = all(re.fullmatch(r"--value|-p\w*|--property=\w+|-P", option) for option in options)
    if "-P" in options:
        return plain and texts[:2] in (["show", "MainPID"], ["show", "NRestarts"])
    return plain and "--value" in options and texts[:1] == ["show"] and attached in _SERVICE_NUMBERS


_SERVICE_NUMBERS = (
    ["MainPID"],
    ["NRestarts"],
    ["ExecMainStatus"],
    ["MemoryCurrent"],
    ["TasksCurrent"],
)


def prints_one(program: str, words: Sequence[Word]) -> bool:
    """Whether what prints numbers prints one of them at most, or none."""
    texts = [word.literal or "" for word in words]
    match program:
        case "pgrep":
            return any(re.fullmatch(r"-[a-z]*[on][a-z]*", text) for text in texts)
        case "pidof":
            return any(re.fullmatch(r"-[a-z]*s[a-z]*", text) for text in texts)
        case "head" | "tail":
            return any(re.fullmatch(r"-n?1", text) for text in texts) or texts == ["-n", "1"]
        case "cat" | "systemctl":
            return len([text for text in texts if text.startswith("/")]) <= 1
        case _:
            return False


_PRINTERS: dict[str, Callable[[list[str], list[Word]], bool]] = {
    "wc": _wc,
    "nproc": lambda options, _: all(option == "--all" for option in options),
    "grep": _grep,
    "egrep": _grep,
    "fgrep": _grep,
    "id": _id,
    "date": _date,
    "stat": _stat,
    "tr": _tr,
    "expr": _expr,
    "seq": _seq,
    "awk": _awk,
    "cat": _kernel,
    "systemctl": _systemctl,
    "curl": _curl,
    "jq": _jq,
    "pgrep": lambda options, _: all(re.fullmatch(r"-[cfxnouUP]+", o) for o in options),
    "ps": _ps,
    "pidof": lambda options, _: all(re.fullmatch(r"-[sxq]+", o) for o in options),
    "getconf": lambda _, operands: bool(operands) and str(operands[0]) in _CONFIGURATION,
}

_FACTS = frozenset({
    *("df", "free", "uptime", "nproc", "date", "id", "uname", "whoami", "hostname", "arch", "wc"),
    *("systemctl", "getconf", "uname", "lscpu", "vmstat", "swapon", "blockdev", "getenforce"),
})  # fmt: skip
_PLAIN_FILTERS = frozenset({"awk", "head", "tail", "cut", "tr", "sort", "uniq", "grep", "sed"})


_CONTAINER_LISTS = re.compile(r"(?:ps|container (?:ls|list)) (?:-[aq]+ ?|--all ?|--quiet ?)+")


_NEVER_NEGATIVE = _FILTERS | {"pgrep", "pidof", "ps", "wc", "nproc", "id", "stat", "cut", "tr"}


def never_negative(word: Word) -> bool:
    """Whether the numbers in a word, which may be several, never look like options."""
    makers = word.makers
    return bool(makers) and all(maker.program in _NEVER_NEGATIVE for maker in makers)


def prints_ids(word: Word) -> bool:
    """Whether a word is the ids of containers and nothing else, as `docker ps -q` prints them."""
    makers = word.makers
    return (
        len(word.pieces) == 1
        and len(makers) == 1
        and makers[0].program in ("docker", "podman")
        and all(each.literal is not None for each in makers[0].argv)
        and (told := " ".join(map(str, makers[0].argv[1:]))) != ""
        and _CONTAINER_LISTS.fullmatch(told) is not None
        and ("q" in told.partition("-")[2])
    )


def prints_facts(makers: Sequence[Run]) -> bool:
    """Whether what these runs put out are facts of the system, of which nobody chose the words."""
    programs = [maker.program for maker in makers if maker.argv]
    return (
        bool(programs)
        and programs[0] in _FACTS
        and all(program in _FACTS | _PLAIN_FILTERS for program in programs)
        and not any(_names_a_file(maker) for maker in makers if maker.program in _PLAIN_FILTERS)
    )


def _names_a_file(run: Run) -> bool:
    """Whether a filter may read a file besides its input, as far as its operands tell."""
    operands = [word for word in run.argv[1:] if not word.prefix.startswith("-")]
    return bool(run.reads) or any("/" in str(word) for word in operands[1:])
