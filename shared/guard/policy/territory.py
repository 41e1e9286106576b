"""Where a command may write, delete and read without an approval (X17)."""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from shared.guard.globs import Pattern
from shared.guard.paths import canonical
from shared.guard.policy.path_patterns import PathPatterns
from shared.guard.words import HOME, Glob, Hole, Text, Word, literal_word

_UNSEEN = "\0"
_SLASH = literal_word("/")
_OF_EVERYBODY = re.compile(
    r"(?i)uploads?|incoming|inbox|dropbox|tmp|temp|caches?|spool|media|attachments?|user-?files"
)
_UPLOADED = re.compile(
    r"(?i)(?:user-?)?uploads?|in|inbound|incoming|received|inbox|dropbox|attachments?|user-?files"
)
_BACKUPS = re.compile(r"(?i)(?:db-?|pg-?|mysql-?)?(?:backups?|dumps?|snapshots?)|bak|wal-?archive")
_PLAIN_FILES = re.compile(
    r"([^*?\[]*/)\*((?:\.[a-z]+)*\.(?:log|html?|css|md|rst|txt|pid|service|timer|rules|repo)|(?<=\*)\.conf)"
)
_FACTS_OF_ALL = re.compile(
    r"/proc/(?:\[[0-9]-9\])?\*/(status|stat|statm|limits|comm|io|sched|schedstat|cgroup|wchan|oom_score"
    r"|oom_score_adj|oom_adj|loginuid|smaps_rollup|numa_maps)"
)
"""What the kernel says of every process, in numbers and names."""
_NAMED = re.compile(r"(?!.*…)[^*?\[]+|[^…]*\.[A-Za-z0-9]+")
"""The last name of a path that is known, or a pattern whose ending is."""


@dataclass(frozen=True)
class Territory:
    """The places of a policy. A directory stands for itself and all that is below it.

    `write` may be written to, `delete` are further ones in which single files may be deleted,
    `purge` those below which whole directories may be; `devices` are single files. `dotfiles` are
    the names beginning with a dot that are harmless, `fixed` patterns of names that never are.
    `secret` are patterns of what may not be read, but for what is `public`. Files are read below
    `readable` alone, and whole directories below `trees`; of the names with a dot in front, only
    `dotfiles` and `dots` are. `code` is where tools that run code from their working directory may
    be started, `projects` where a project's own programs may lie. `hosts` are the only hosts that
    may be reached; any host with a plain name if there are none. `images` are the names of those
    of other makers that may be run.
    """

    write: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    purge: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    dotfiles: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    dots: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    images: tuple[str, ...] = ()

    def no_write(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why a file may not be written there, or None."""
        return self._outside(word, directories, self.write, "written to")

    def no_delete(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why a file may not be deleted there, or None."""
        return self._kept(word, directories) or self.no_removal(word, directories)

    def no_removal(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why a file may not be taken away from there while its content stays, or None."""
        return self._outside(
            word, directories, self.write + self.delete, "deleted from", below=True
        )

    def no_purge(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why a directory may not be deleted there with all that is in it, or None."""
        return self._kept(word, directories) or self._outside(
            word, directories, self.purge, "deleted from", below=True
        )

    def no_emptying(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why what a file holds may not be thrown away, or None."""
        return self._kept(word, directories) or self.no_write(word, directories)

    @staticmethod
    def _kept(word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why what lies there is kept until a person says otherwise, or None."""
        for directory in directories:
            path = canonical(word, directory)
            if lies_among_backups(path):
                return f"{path} lies among backups"
        return None

    def no_throwing_away(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why old files may not be deleted there, the places for temporary files included."""
        return self._outside(word, directories, tuple(p for p in self.purge if p[0] == "/"), "kept")

    def no_change(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why what lies there may not be changed, the places themselves excepted, or None."""
        return self._outside(word, directories, self.write, "changed", below=True)

    def no_unpacking(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why many files of unknown names may not be written there, or None."""
        return self._outside(word, directories, self.write, "unpacked into", below=True)

    def no_arrival(
        self, source: Word, target: Word, directories: tuple[Word, ...], *, contents: bool
    ) -> str | None:
        """Why what a copy brings may not come to lie in the target, or None.

        `contents`: what is in the source comes, under names that nobody knows.
        """
        name = str(source).rstrip("/").rpartition("/")[2]
        if any(isinstance(piece, Glob) for piece in source.pieces):
            into = str(target)
            if not into.endswith("/") and into not in (".", "..", "~"):
                return f"what {source} names may come under another name: end it with a slash"
        if contents or not _NAMED.fullmatch(name):
            return self.no_unpacking(target, directories)
        return self.no_write(Word((*target.pieces, *literal_word(f"/{name}").pieces)), directories)

    def no_code(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why what lies there may not be run, or None."""
        for directory in directories:
            path = canonical(word, directory)
            if of_strangers(path):
                return f"{path} lies where others put files"
        return self._outside(word, directories, self.code, "run from", below=True)

    def no_program(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why it is not a program of a project that is declared, or None."""
        for directory in directories:
            path = canonical(word, directory)
            if path.literal is None or not self._project_regex.fullmatch(path.literal):
                return f"{path} is not below a project that the policy declares"
            names = path.literal.split("/")[1:]
            if any(map(_OF_EVERYBODY.fullmatch, names[:-1])):
                return f"{path} lies where others put files"
            if any(n[:1] == "." and not self._harmless_dotfile(n) and n != ".bin" for n in names):
                return f"{path} lies in a folder whose name begins with a dot"
        return None

    def secret_in(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why it is, or may be, a secret by its name, or None: a person decides, wherever it is."""
        for each, directory in product(_of_a_process(word), directories):
            if why := self._secret_at(canonical(each, directory)):
                return why
        return None

    def no_read(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why a file may not be read: it may be a secret, or lies where some are. None if it may.

        What is listed as readable is known to hold no other secrets than those named so.
        """
        if why := self.secret_in(word, directories):
            return why
        for each, directory in product(_of_a_process(word), directories):
            path = canonical(each, directory)
            if self._public_patterns.certainly_name(path) or not self.readable:
                continue
            text = path.with_placeholder(_UNSEEN)
            if self._device(text):
                continue
            if not self._is_read(text):
                return f"{path} is not a place that is read without an approval"
            if hidden := self._hidden_name(text):
                return f"{path}: {hidden} begins with a dot, and may hold a secret"
        return None

    def no_reading_below(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why all that is in a directory may not be read, or None.

        No anchored pattern of a secret may lie at or below it, and it is one of `trees`.
        """
        for directory in directories:
            path = canonical(word, directory)
            if why := self._secret_at(path, inside=True):
                return why
            if pattern := self._secret_patterns.below(path):
                return f"{path} may hold secrets below it ({pattern})"
            text = path.with_placeholder(_UNSEEN)
            if self.trees and not self._is_tree(text):
                return f"{path} may hold secrets below it"
            if self.trees and (hidden := self._hidden_name(text)):
                return f"{path}: {hidden} begins with a dot, and may hold a secret"
        return None

    def no_showing_below(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why all lines in a directory may not be shown, or None: all in it is public."""
        inside = Word((*word.pieces, *literal_word("/x").pieces))
        for directory in directories:
            if not self._public_patterns.certainly_name(canonical(inside, directory)):
                return f"{word} may hold secrets below it"
        return self.no_reading_below(word, directories)

    def _secret_at(self, path: Word, *, inside: bool = False) -> str | None:
        if self._public_patterns.certainly_name(path):
            return None
        pattern = self._secret_patterns.naming(_one_of(path))
        literal = path.literal
        if literal is None:
            return f"{path} may be a secret at run time ({pattern})" if pattern else None
        if inside and pattern is None:
            pattern = self._secret_patterns.naming(Word((*path.pieces, *_SLASH.pieces)))
        if pattern is not None:
            return f"{path} is, or may hold, a secret"
        if literal.startswith("/dev/") and not self._device(literal):
            return f"{path} is a device"
        return None

    def _is_read(self, text: str) -> bool:
        return self._read_regex.fullmatch(text) is not None

    def _is_tree(self, text: str) -> bool:
        return self._tree_regex.fullmatch(text) is not None

    def _hidden_name(self, text: str) -> str | None:
        """The first name on a path that begins with a dot and is not known to be harmless."""
        for component in text.split("/")[1:]:
            if (
                component.startswith((".", "[."))
                and not self._harmless_dotfile(component)
                and not any(pattern.holds(component) for pattern in self._shown_dots)
            ):
                return component
        return None

    def _device(self, path: str) -> bool:
        return any(device.fullmatch(path) for device in self._device_patterns)

    def _outside(
        self,
        word: Word,
        directories: tuple[Word, ...],
        roots: tuple[str, ...],
        done: str,
        *,
        below: bool = False,
    ) -> str | None:
        for directory in directories:
            path = canonical(word, directory)
            if path.pieces and isinstance(path.pieces[0], Hole):
                return f"where it leads is not known: {word}"
            text = path.with_placeholder(_UNSEEN)
            if not below and self._device(text):
                continue
            if self._root_of(text, roots, below=below) is None:
                return f"{path} is not a place that is {done} without an approval"
            if why := self._why_reserved(text):
                return f"{path}: {why}"
        return None

    @staticmethod
    def _root_of(text: str, roots: tuple[str, ...], *, below: bool) -> str | None:
        for root in roots:
            place = HOME + root[1:] if root.startswith("~") else root
            if text.startswith(f"{place}/"):
                inner = text[len(place) + 1 :]
                if not below or inner.split("/")[0].strip("*?.") != "":
                    return root
            elif text == place and not below:
                return root
        return None

    def _why_reserved(self, text: str) -> str | None:
        components = text.split("/")
        for component in components[1:]:
            if component.startswith((".", "[.")) and not self._harmless_dotfile(component):
                return "what begins with a dot steers programs"
        if self._fixed_regex.fullmatch(text.replace(HOME, "~")):
            return "what lies there is run or read by others"
        return None

    def _harmless_dotfile(self, name: str) -> bool:
        return any(pattern.holds(name) for pattern in self._dotfile_patterns)

    @cached_property
    def _dotfile_patterns(self) -> tuple[Pattern, ...]:
        return tuple(map(Pattern, self.dotfiles))

    @cached_property
    def _device_patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(device) for device in self.devices)

    @cached_property
    def _fixed_regex(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_as_regex, self.fixed)) or "(?!)", re.DOTALL)

    @cached_property
    def _shown_dots(self) -> tuple[Pattern, ...]:
        return tuple(map(Pattern, self.dots))

    @cached_property
    def _secret_patterns(self) -> PathPatterns:
        return PathPatterns(self.secret)

    @cached_property
    def _public_patterns(self) -> PathPatterns:
        return PathPatterns(self.public)

    @cached_property
    def _project_regex(self) -> re.Pattern[str]:
        forms = (_at_home(text).split("*") for text in self.projects)
        shown = ("[^/]+".join(map(re.escape, parts)) + "/.+" for parts in forms)
        return re.compile("|".join(shown) or "(?!)", re.DOTALL)

    @cached_property
    def _read_regex(self) -> re.Pattern[str]:
        return _places(self.readable)

    @cached_property
    def _tree_regex(self) -> re.Pattern[str]:
        return _places(self.trees)


def lies_among_backups(path: Word) -> bool:
    """Whether a folder on the way to a place, or its own name, says that backups are kept there."""
    return any(map(_BACKUPS.fullmatch, path.with_placeholder(_UNSEEN).split("/")))


def of_strangers(path: Word) -> bool:
    """Whether a place lies where others put files."""
    return any(map(_UPLOADED.fullmatch, path.with_placeholder(_UNSEEN).split("/")))


def _of_a_process(word: Word) -> tuple[Word, ...]:
    """What `/proc/$(pgrep x)/limits` may name: that of a process, or without a number; else it."""
    told = "" if word.literal is not None or word.unknown else word.with_placeholder("")
    if found := _FACTS_OF_ALL.fullmatch(told):
        return (literal_word(f"/proc/1/{found[1]}"),)
    match word.pieces:
        case (Text("/proc/"), Hole(number=True), Text() as rest) if rest.value.startswith("/"):
            return tuple(literal_word(f"/proc/{number}{rest.value}") for number in ("1", ""))
    return (word,)


def _one_of(path: Word) -> Word:
    """One of the logs, pages or settings of a service that `*.log` stands for, else the path.

    Where a secret lies in such a folder, its name has another ending.
    """
    if path.unknown or path.literal is not None:
        return path
    found = _PLAIN_FILES.fullmatch(path.with_placeholder(""))
    return literal_word(f"{found[1]}x{found[2]}") if found else path


def _at_home(text: str) -> str:
    return HOME + text[1:] if text.startswith("~") else text


def _places(texts: tuple[str, ...]) -> re.Pattern[str]:
    """Directories with all below them; `DIRECTORY/*` is what lies below it alone."""
    forms = []
    for text in texts:
        place = _at_home(text)
        inner = place.removesuffix("/*")
        forms.append(_as_regex(inner) + ("/.+" if inner != place else "(/.*)?"))
    return re.compile("|".join(forms) or "(?!)", re.DOTALL)


def _as_regex(pattern: str) -> str:
    """A pattern in which `*` is any text, slashes included."""
    return "".join(".*" if sign == "*" else re.escape(sign) for sign in pattern)
