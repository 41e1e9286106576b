"""Pages that are followed to wherever they lead, to a machine's credentials too (X17).

A redirect is the answer of a host that nobody has vouched for. It is harmless where only https is
followed (no cloud hands out credentials so), where nothing is kept of the page or it is kept as an
archive, which nothing shows, and where the host is the machine itself, declared by the policy, or
known to lead to no address inside.
"""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.words import Run

RULE = "follows-redirects"

_KNOWN = (
    *("github.com", "*.github.com", "*.githubusercontent.com", "gitlab.com", "ghcr.io"),
    *("*.debian.org", "*.ubuntu.com", "*.launchpad.net", "*.fedoraproject.org", "*.centos.org"),
    *("*.rockylinux.org", "*.almalinux.org", "*.alpinelinux.org", "*.opensuse.org"),
    *("*.kernel.org", "*.gnu.org", "*.apache.org", "nginx.org", "*.nginx.org", "*.postgresql.org"),
    *("*.mysql.com", "*.mariadb.org", "*.mongodb.org", "*.redis.io", "*.elastic.co"),
    *("*.grafana.com", "*.docker.com", "*.k8s.io", "get.helm.sh", "*.hashicorp.com"),
    *("*.python.org", "nodejs.org", "*.nodesource.com", "getcomposer.org", "go.dev"),
    *("dl.google.com", "*.rust-lang.org", "letsencrypt.org"),
)
_ITSELF = frozenset({"localhost", "127.0.0.1", "[::1]"})
_PAGE = re.compile(r"(?i)(https?)://([^/?#:@]+)(?::\d+)?([/?#].*)?")
_BARE = re.compile(r"(?i)(localhost|[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)+)(?::\d+)?([/?#].*)?")
_LEADS_ON = re.compile(r"(?i)(?::|%3a)(?:/|%2f){2}|=(?:/|%2f){2}")
_LETTERS = re.compile(r"-[A-Za-z0-9]+")
_NOWHERE = ("/dev/null",)
_ARCHIVE = re.compile(
    r"(?i).*\.(?:tgz|tbz2?|txz|tar(?:\.[a-z0-9]+)?|zip|gz|xz|zst|bz2|deb|rpm|jar|war|iso|img)"
)


def redirect_verdicts(runs: Iterable[Run], hosts: tuple[str, ...]) -> Iterator[Verdict]:
    """A question for each run that follows a page anywhere; `hosts` are those of the policy."""
    for run in runs:
        texts = [word.with_placeholder("") for word in run.argv[1:]]
        follows = _FOLLOWS.get(run.program)
        if follows is None or not follows(texts):
            continue
        page = next((text for text in texts if _leads_away(text, texts, hosts)), None)
        if page is not None:
            told = (
                f"{page} may redirect to where a machine gets its credentials: declare the host"
                " (places: hosts), or follow https alone (curl --proto-redir =https)"
            )
            yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)


def _curl_follows(texts: list[str]) -> bool:
    letters = _letters(texts)
    if "--location" not in texts and "L" not in letters:
        return False
    if _value(texts, "--max-redirs") == "0" or "I" in letters or "--head" in texts:
        return False
    return not (_value(texts, "--output") in _NOWHERE or _after_letter(texts, "o") in _NOWHERE)


def _wget_follows(texts: list[str]) -> bool:
    if "--spider" in texts or _value(texts, "--max-redirect") == "0":
        return False
    return not (
        _value(texts, "--output-document") in _NOWHERE or _after_letter(texts, "O") in _NOWHERE
    )


_FOLLOWS = {"curl": _curl_follows, "wget": _wget_follows}


def _leads_away(text: str, texts: list[str], hosts: tuple[str, ...]) -> bool:
    text = text.removeprefix("--url=")
    found = _PAGE.fullmatch(text)
    bare = None if found else _BARE.fullmatch(text)
    if found is None and (bare is None or _after_option(text, texts)):
        return False
    scheme = found[1].lower() if found else "http"
    host = (found[2] if found else bare[1] if bare else "").lower()
    rest = (found[3] if found else bare[2] if bare else "") or ""
    if scheme == "https" and "=https" in (_value(texts, "--proto-redir"), _value(texts, "--proto")):
        return False
    if scheme == "https" and _ARCHIVE.fullmatch(_saved(texts, rest.partition("?")[0])):
        return False
    if host in _ITSELF:
        return _LEADS_ON.search(rest) is not None
    return not any(fnmatchcase(host, pattern.lower()) for pattern in (*hosts, *_KNOWN))


def _after_option(text: str, texts: list[str]) -> bool:
    """Whether a word that looks like a host without a scheme is the value of an option."""
    before = texts[texts.index(text) - 1] if texts.index(text) else ""
    return re.fullmatch(r"-\w*[oOHAwmTtKbxXUe]|--(?!url$|location$|fail$|silent$)[\w-]+", before) \
        is not None  # fmt: skip


def _saved(texts: list[str], path: str) -> str:
    """The name under which a page is kept: one that is given, or that of its path; "" for none."""
    for name in ("--output", "--output-document"):
        if value := _value(texts, name):
            return value
    curl = "-L" in texts or "L" in _letters(texts) or "--location" in texts
    if not curl:
        return _after_letter(texts, "O") or path
    remote = "O" in _letters(texts) or "--remote-name" in texts
    return _after_letter(texts, "o") or (path if remote else "")


def _letters(texts: list[str]) -> set[str]:
    return {letter for text in texts if _LETTERS.fullmatch(text) for letter in text[1:]}


def _value(texts: list[str], name: str) -> str:
    for index, text in enumerate(texts):
        if text.startswith(f"{name}="):
            return text.removeprefix(f"{name}=")
        if text == name and index + 1 < len(texts):
            return texts[index + 1]
    return ""


def _after_letter(texts: list[str], letter: str) -> str:
    """The value of an option of one letter, which may end a bundle, or have it attached."""
    for index, text in enumerate(texts):
        found = re.fullmatch(rf"-[A-Za-z0-9]*?{letter}(.*)", text)
        if found and not text.startswith("--"):
            following = texts[index + 1] if index + 1 < len(texts) else ""
            return found[1] or following
    return ""
