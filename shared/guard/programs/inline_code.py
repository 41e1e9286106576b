"""Options and operands that contain a command, or a program in another language."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shared.guard.programs.mongo_looks import mongo_only_looks
from shared.guard.words import Word

SHELL_NAMES = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "rbash"})
INTERPRETERS = frozenset(
    [
        "python",
        "perl",
        "ruby",
        "node",
        "nodejs",
        "deno",
        "bun",
        "php",
        "lua",
        "tclsh",
        "Rscript",
        "osascript",
        "pwsh",
    ]
)


@dataclass(frozen=True, slots=True)
class Embedded:
    """A command text for a shell inside an argument."""

    text: Word


@dataclass(frozen=True, slots=True)
class Foreign:
    """A program, in a language the guard does not read, inside an argument; `why` says which."""

    why: str


Code = Embedded | Foreign

# program -> options whose value is a command text: letters, then long names
_SHELL_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "su": ("c", ("command", "session-command")),
    "runuser": ("c", ("command", "session-command")),
    "sg": ("c", ()),
    "flock": ("c", ("command",)),
    "script": ("c", ("command",)),
    "env": ("S", ("split-string",)),
    "rsync": ("e", ("rsh", "rsync-path")),
    "tar": ("IF", ("to-command", "use-compress-program", "info-script", "new-volume-script",
                   "rmt-command", "rsh-command")),
    "sort": ("", ("compress-program",)),
    "split": ("", ("filter",)),
    "man": ("P", ("pager",)),
    "zip": ("", ("unzip-command", "TT")),
    "ansible": ("a", ("args",)),
    "vagrant": ("c", ("command",)),
    "tcpdump": ("z", ()),
    "git": ("Ox", ("open-files-in-pager", "exec", "upload-pack", "receive-pack", "ext-diff")),
    "scp": ("S", ()),
    "sftp": ("S", ()),
    "ncat": ("ce", ("exec", "sh-exec")),
    "nc": ("ce", ()),
    "xterm": ("e", ()),
    "compgen": ("C", ()),
    "complete": ("C", ()),
    "start-stop-daemon": ("xa", ("exec", "startas")),
}  # fmt: skip
_SSH_COMMANDS = re.compile(
    r"(?:ProxyCommand|LocalCommand|KnownHostsCommand|RemoteCommand)[ =]+", re.IGNORECASE
)
_FOREIGN_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "python": ("c", ()),
    "perl": ("eE", ()),
    "ruby": ("e", ()),
    "node": ("ep", ("eval", "print")),
    "nodejs": ("ep", ("eval", "print")),
    "php": ("rBRE", ("run",)),
    "lua": ("e", ()),
    "Rscript": ("e", ()),
    "osascript": ("e", ()),
    "pwsh": ("c", ("Command",)),
    "vim": ("c", ("cmd",)),
    "vi": ("c", ("cmd",)),
    "nvim": ("c", ("cmd",)),
    "view": ("c", ("cmd",)),
    "ex": ("c", ("cmd",)),
    "emacs": ("", ("eval", "execute", "load")),
    "gdb": ("x", ("ex", "eval-command", "command", "iex")),
    "mongosh": ("", ("eval",)),
    "mongo": ("", ("eval",)),
    "expect": ("c", ()),
    "gawk": ("e", ("source", "include", "load")),
    "make": ("", ("eval",)),
    "nmap": ("", ("script",)),
}
_GIT_RUNS = re.compile(
    r"(alias\..*|core\.(pager|sshcommand|editor|fsmonitor|hookspath|askpass)|diff\.external"
    r"|.*\.(textconv|command|driver|clean|smudge|process|helper|program|path)|sequence\.editor"
    r"|include\.path|protocol\.ext\.allow|uploadpack\..*)=",
    re.IGNORECASE,
)
_AWK_RUNS = re.compile(r"\bsystem\s*\(|\bgetline\b|@(?:load|include)")
_AWK_WRITES = re.compile(r">|\|(?!\|)")
_SED_RUNS = re.compile(r"(?:^|[;{}\n0-9/$])[ \t]*[ewW](?:\s|$|;)")
_SED_SUBSTITUTE = re.compile(r"(?:^|[;{}\n0-9/$,][ \t]*)s([^\w\s])")
_SQL_ESCAPE = re.compile(r"\\!|^[ \t]*(?:system|\.shell|\.system)\s|\\[gio][ \t]*\|", re.MULTILINE)
_SOCAT_RUNS = re.compile(r"(?i)\b(exec|system|shell):")
_EDITOR_RUNS = re.compile(r"^\+.")


def codes(program: str, words: tuple[Word, ...]) -> Iterator[Code]:
    """Everything in the arguments of `program` that it would run."""
    name = language(program)
    yield from map(Embedded, option_values(words, *_SHELL_OPTIONS.get(name, ("", ()))))
    foreign = option_values(words, *_FOREIGN_OPTIONS.get(name, ("", ())))
    harmless = _ONLY_LOOKS.get(name)
    if any(harmless is None or not harmless(value.literal or "") for value in foreign):
        yield Foreign(f"{name} is given a program in its own language")
    if name in _LOOKED_INTO:
        yield from _LOOKED_INTO[name](words)


def language(program: str) -> str:
    """The name without its version: `python3.11` becomes `python`."""
    stripped = program.rstrip("0123456789.")
    return stripped if stripped in INTERPRETERS or stripped in _FOREIGN_OPTIONS else program


def _git(words: tuple[Word, ...]) -> Iterator[Code]:
    for value in option_values(words, "c", ("config-env",)):
        if value.literal is None or _GIT_RUNS.match(value.literal):
            yield Foreign("a git setting names a program")
    for index, word in enumerate(words):
        text = word.prefix
        if text.startswith("ext::"):
            yield Embedded(word.after(len("ext::")))
        if text == "foreach" and words[:index] and words[index - 1].literal == "submodule":
            yield from map(Embedded, words[index + 1 :])


def _ssh(words: tuple[Word, ...]) -> Iterator[Code]:
    for value in option_values(words, "o", ()):
        if found := _SSH_COMMANDS.match(value.prefix):
            yield Embedded(value.after(found.end()))


def _tar(words: tuple[Word, ...]) -> Iterator[Code]:
    for value in option_values(words, "", ("checkpoint-action",)):
        if value.prefix.startswith("exec="):
            yield Embedded(value.after(len("exec=")))


def _make(words: tuple[Word, ...]) -> Iterator[Code]:
    for word in words:
        if word.prefix.startswith("SHELL="):
            yield Embedded(word.after(len("SHELL=")))


def _parallel(words: tuple[Word, ...]) -> Iterator[Code]:
    """Without a command, the words after `:::` are commands."""
    if words and words[0].literal == ":::":
        yield from map(Embedded, words[1:])


def _awk(words: tuple[Word, ...]) -> Iterator[Code]:
    if any(_awk_runs(str(word)) for word in words):
        yield Foreign("awk runs or writes something")


def _sed(words: tuple[Word, ...]) -> Iterator[Code]:
    if any(map(_sed_runs, _sed_scripts(words))):
        yield Foreign("sed runs or writes something")


def _socat(words: tuple[Word, ...]) -> Iterator[Code]:
    return _suspect(words, _SOCAT_RUNS, "socat connects a program to the network")


def _editor(words: tuple[Word, ...]) -> Iterator[Code]:
    return _suspect(words, _EDITOR_RUNS, "an editor is given commands")


def _sql_client(words: tuple[Word, ...]) -> Iterator[Code]:
    return _suspect(words, _SQL_ESCAPE, "the SQL leaves its client for the shell")


def _suspect(words: tuple[Word, ...], pattern: re.Pattern[str], why: str) -> Iterator[Code]:
    for word in words:
        if pattern.search(str(word)):
            yield Foreign(why)
            return


def _awk_runs(program: str) -> bool:
    if _AWK_RUNS.search(program):
        return True
    for statement in re.split(r"[;}\n]", program):
        _, printed, rest = statement.partition("print")
        if printed and _AWK_WRITES.search(rest):
            return True
    return False


def _sed_scripts(words: tuple[Word, ...]) -> list[str]:
    given = list(option_values(words, "e", ("expression",)))
    operands = [word for word in words if not word.prefix.startswith("-")]
    return [str(word) for word in given or operands[:1]]


def _sed_runs(script: str) -> bool:
    """Check whether the script has a command, or a flag of `s`, that runs or writes."""
    rest = []
    position = 0
    while found := _SED_SUBSTITUTE.search(script, position):
        rest.append(script[position : found.start()])
        position = found.end()
        for _ in range(2):
            while position < len(script) and script[position] != found[1]:
                position += 2 if script[position] == "\\" else 1
            position += 1
        flags = re.match(r"\w*", script[position:])
        if flags and set(flags[0]) & set("ew"):
            return True
        position += len(flags[0]) if flags else 0
    rest.append(script[position:])
    return any(map(_SED_RUNS.search, rest))


def option_values(words: tuple[Word, ...], letters: str, longs: tuple[str, ...]) -> Iterator[Word]:
    """The values given to the options named, attached or apart."""
    if not letters and not longs:
        return
    for index, word in enumerate(words):
        prefix = word.prefix
        if not prefix.startswith("-") or prefix == "-":
            continue
        following = words[index + 1 : index + 2]
        name, equals, _ = prefix.lstrip("-").partition("=")
        shortened = prefix.startswith("--")
        if any(name and (long == name or (shortened and long.startswith(name))) for long in longs):
            if equals:
                yield word.after(prefix.index("=") + 1)
            else:
                yield from following
            continue
        if prefix.startswith("--"):
            continue
        place = next((i for i, c in enumerate(prefix[1:], 1) if c in letters), None)
        if place is not None:
            rest = word.after(place + 1)
            if rest.pieces:
                yield rest
            # `su -lc text` and `tar -I text`: the letter may also come last in a bundle
            elif following:
                yield following[0]


_ONLY_LOOKS: dict[str, Callable[[str], bool]] = {
    "mongosh": mongo_only_looks,
    "mongo": mongo_only_looks,
}
_LOOKED_INTO: dict[str, Callable[[tuple[Word, ...]], Iterator[Code]]] = {
    **dict.fromkeys(("ssh", "scp", "sftp", "autossh"), _ssh),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("vim", "vi", "nvim", "view", "ex"), _editor),
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3"), _sql_client),
    "tar": _tar,
    "make": _make,
    "parallel": _parallel,
    "git": _git,
    "sed": _sed,
    "socat": _socat,
}
