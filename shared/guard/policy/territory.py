"""Where a command may write, delete and read without an approval (X17)."""

import re
from dataclasses import dataclass
from functools import cached_property

from shared.guard.globs import Match, Pattern
from shared.guard.paths import canonical
from shared.guard.words import HOME, Hole, Word

_UNSEEN = "\0"
_RECURSIVE_ROOTS = frozenset({"/", "/etc", "/root", "/home", "/proc", "/sys", "/dev", "/run"})


@dataclass(frozen=True)
class Territory:
    """The places of a policy. A directory stands for itself and all that is below it.

    `write` may be written to, `delete` are further ones in which single files may be deleted,
    `purge` those below which whole directories may be; `devices` are single files. `dotfiles` are
    the names beginning with a dot that are harmless, `fixed` patterns of names that never are.
    `secret` are patterns of what may not be read, `code` where a project's own programs may lie.
    """

    write: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    purge: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    dotfiles: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    code: tuple[str, ...] = ()

    def no_write(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why a file may not be written there, or None."""
        return self._outside(word, directories, self.write, "written to")

    def no_delete(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why a file may not be deleted there, or None."""
        return self._outside(
            word, directories, self.write + self.delete, "deleted from", below=True
        )

    def no_purge(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why a directory may not be deleted there with all that is in it, or None."""
        return self._outside(word, directories, self.purge, "deleted from", below=True)

    def no_change(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why what lies there may not be changed, the places themselves excepted, or None."""
        return self._outside(word, directories, self.write, "changed", below=True)

    def no_unpacking(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why many files of unknown names may not be written there, or None."""
        return self._outside(word, directories, self.write, "unpacked into", below=True)

    def no_code(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why what lies there may not be run, or None."""
        return self._outside(word, directories, self.code, "run from", below=True)

    def no_read(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why it may not be read: it is, or may be, a secret. None when it may."""
        for directory in directories:
            if why := self._secret_at(canonical(word, directory)):
                return why
        return None

    def no_reading_below(self, word: Word, directories: tuple[Word, ...]) -> str | None:
        """Why all that is in a directory may not be read, or None."""
        for directory in directories:
            path = canonical(word, directory)
            text = path.with_placeholder(_UNSEEN)
            if text in (*_RECURSIVE_ROOTS, HOME) or re.fullmatch("/home/[^/]+", text):
                return f"{word} holds secrets below it"
            if why := self._secret_at(path, inside=True):
                return why
        return None

    def _secret_at(self, path: Word, *, inside: bool = False) -> str | None:
        literal = path.literal
        if literal is not None:
            if literal.endswith(".pub"):
                return None
            shown = (literal, f"{literal}/") if inside else (literal,)
            if any(map(self._secret_regex.fullmatch, shown)):
                return f"{path} is, or may hold, a secret"
            if literal.startswith("/dev/") and not self._device(literal):
                return f"{path} is a device"
            return None
        for pattern in self._secret_patterns:
            if pattern.match(path) is not Match.NO:
                return f"{path} may be a secret at run time ({pattern.text})"
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
    def _secret_patterns(self) -> tuple[Pattern, ...]:
        return tuple(Pattern(_at_home(text)) for text in self.secret)

    @cached_property
    def _secret_regex(self) -> re.Pattern[str]:
        shown = (_as_regex(_at_home(text)) for text in self.secret)
        return re.compile("|".join(shown) or "(?!)", re.DOTALL)


def _at_home(text: str) -> str:
    return HOME + text[1:] if text.startswith("~") else text


def _as_regex(pattern: str) -> str:
    """A pattern in which `*` is any text, slashes included."""
    return "".join(".*" if sign == "*" else re.escape(sign) for sign in pattern)
