"""Kinds of words that name something elsewhere: hosts, addresses, units, revisions, archives."""

import re
from collections.abc import Callable

from shared.guard.policy.addresses import unreachable, unreachable_mapping, unreachable_url
from shared.guard.policy.ground import Ground, Kind
from shared.guard.policy.units import no_control, no_end, no_mask
from shared.guard.words import Word, literal_word

_WILD_BEHIND_THE_HOST = re.compile(r"(https?://)?(?!https?:)[^/?*\[]+/[^*\[]*")
_URL = re.compile(
    r"(?i)(https?://)?(localhost|127\.0\.0\.1)(:\d+)?(/[^\s@\\`$|;<>{}\[\]]*)?"
    r"|(?:https?://)?(?:[A-Z0-9][A-Z0-9-]*\.)+[A-Z]{2,}(?=$|[/:?])(:\d+)?([/?][^\s@\\`$|;<>{}\[\]]*)?"
    r"|https?://[A-Z0-9][A-Z0-9.-]*(:\d+)?([/?][^\s@\\`$|;<>{}\[\]]*)?"
)
_HOST = re.compile(r"[A-Za-z0-9:_][A-Za-z0-9.:_-]*")
_ASKED = re.compile(r"[@+]?[A-Za-z0-9._:=-]+")
_IN_REPOSITORY = re.compile(r"(?![-/~\ue000])(?!.*(^|/)\.\.(/|$))(?!ext::)\S*", re.DOTALL)
_ARCHIVE = re.compile(
    r"(?i).*\.(tar|tgz|tbz2?|txz|tzst|tlz|zip|jar|war|(tar|cpio)\.(gz|bz2|xz|zst|lz4?|lzma|Z)|bundle)"
)
_SERVED = re.compile(r"/(www|htdocs|public|public_html|html|static|webroot)/")
_DUMP = re.compile(r"(?i).*\.(sql|dump|dmp|bson|rdb|ldif)(\.(gz|bz2|xz|zst))?")
_SEARCHED = re.compile(
    r"(?=.*[A-Za-z0-9_]{2})(?=.*[^.^$]{3})\^?[\w ./:=,@<>\"'#!%&~;()-]+\$?", re.DOTALL
)
_SEARCH_OF_SECRETS = re.compile(
    r"(?i)pass|secret|token|key|pwd|auth|priv|cred|begin|login|dsn|salt|hash|_url|://|conn|bearer"
)


def _worded(judge: Callable[[str, Ground], str | None]) -> Kind:
    """A kind of words that have to be known completely."""

    def kind(word: Word, ground: Ground) -> str | None:
        text = word.literal
        return f"{word} is known only when it runs" if text is None else judge(text, ground)

    return kind


def _url(text: str, ground: Ground) -> str | None:
    if not _URL.fullmatch(text):
        return f"{text} is not a plain http address that is known beforehand"
    return unreachable_url(text, ground.territory.hosts)


def _plain_url(word: Word, ground: Ground) -> str | None:
    """An unquoted `?` behind the host leaves the host as it is, whatever file it may name."""
    shown = word.with_placeholder("")
    if word.unknown or not _WILD_BEHIND_THE_HOST.fullmatch(shown):
        return _worded(_url)(word, ground)
    return _url(shown, ground)


def _named_url(text: str, ground: Ground) -> str | None:
    """An address from which a file gets its name: `%2E` in it becomes a dot."""
    if "%" in text.partition("?")[0].rpartition("/")[2]:
        return f"{text} names the file in another spelling: say where to write it"
    return _url(text, ground)


def _host(text: str, ground: Ground) -> str | None:
    if not _HOST.fullmatch(text):
        return f"{text} is not a plain name of a host"
    return unreachable(text, ground.territory.hosts)


def _asked_name(text: str, ground: Ground) -> str | None:
    """A word of dig: a name, a type, `@SERVER`, or `+option`."""
    if not _ASKED.fullmatch(text):
        return f"{text} is not a plain name"
    if text.startswith("+"):
        return None
    return unreachable(text.removeprefix("@"), ground.territory.hosts)


def _mapping(text: str, ground: Ground) -> str | None:
    return unreachable_mapping(text, ground.territory.hosts)


def _unit(text: str, ground: Ground) -> str | None:
    del ground
    return no_control(text)


def _unit_to_end(text: str, ground: Ground) -> str | None:
    del ground
    return no_end(text)


def _unit_to_mask(text: str, ground: Ground) -> str | None:
    del ground
    return no_mask(text)


def _git_word(text: str, ground: Ground) -> str | None:
    """A revision or a path, also `REVISION:PATH`: within the repository, and not a secret."""
    if not _IN_REPOSITORY.fullmatch(text):
        return f"{text} leads out of the repository"
    path = text.rpartition(":")[2]
    return ground.territory.secret_in(literal_word(path), ground.directories) if path else None


def _archive(word: Word, ground: Ground) -> str | None:
    """What is packed keeps a name by which it is known that it may hold anything."""
    text = word.with_placeholder("x")
    if not _ARCHIVE.fullmatch(text):
        return f"{word} does not look like an archive"
    if _SERVED.search(text):
        return f"{word} lies where pages are served: anybody could get what is packed"
    return (
        f"{word} may be on another host"
        if ":" in text
        else ground.territory.no_write(word, ground.directories)
    )


def _shown(word: Word, ground: Ground) -> str | None:
    """A file whose bytes are shown: not one that may hold any others, or a whole database."""
    if word.literal == "-":
        return None
    if holds_anything(word):
        return f"{word} may hold anything, secrets too"
    return ground.territory.no_read(word, ground.directories)


def holds_anything(word: Word) -> bool:
    """Whether a file is an archive or a dump by its name."""
    text = word.with_placeholder("x")
    return _ARCHIVE.fullmatch(text) is not None or _DUMP.fullmatch(text) is not None


def _search(text: str, ground: Ground) -> str | None:
    """A pattern that finds only lines with a word of its own, and none that names a secret."""
    del ground
    if not _SEARCHED.fullmatch(text) or _SEARCH_OF_SECRETS.search(text):
        return f"{text} may find a secret in one of the files"
    return None


NAMED: dict[str, Kind] = {
    "url": _plain_url,
    "named-url": _worded(_named_url),
    "host": _worded(_host),
    "dig": _worded(_asked_name),
    "mapping": _worded(_mapping),
    "unit": _worded(_unit),
    "unit-to-end": _worded(_unit_to_end),
    "unit-to-mask": _worded(_unit_to_mask),
    "git-word": _worded(_git_word),
    "archive": _archive,
    "shown": _shown,
    "search": _worded(_search),
}
"""These kinds by their names."""
