"""Corrections of network failures: check the network, wait for it, repeat (S0.40)."""

import re

from workers.shells.corrections.command_line import PlacedCommand, insert
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_HOST = re.compile(r"(?=.{4,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)+")
_UNRESOLVED = re.compile(
    r"Temporary failure resolving '([^']+)'|[Cc]ould not resolve host: ([^\s;,()]+)"
    r"|unable to resolve host address '([^']+)'|lookup ([\w.-]+)(?: on \S+)?: no such host"
    r"|getaddrinfo (?:ENOTFOUND|EAI_AGAIN) ([\w.-]+)"
    r"|Failed to resolve '([^']+)'"
)
_NAME_SERVICE = re.compile(r"Temporary failure in name resolution|Name or service not known")
_UNREACHABLE = re.compile(r"Network is unreachable|No route to host")
_RESET = re.compile(
    r"[Cc]onnection (?:was )?reset|early EOF|RPC failed|TLS handshake timeout|[Rr]ead timed out"
    r"|[Cc]onnection timed out|i/o timeout|unexpected disconnect|HTTP[^\n]{0,20} 50[234]"
    r"|50[234] (?:Service|Bad|Gateway)|The requested URL returned error: 50[234]|Failed to fetch"
    r"|ECONNRESET|ETIMEDOUT|The read operation timed out|Operation timed out"
)
_DOWNLOADERS = frozenset({"curl", "wget"})
_FETCHERS = frozenset(
    [
        *("apt", "apt-get", "dnf", "yum", "apk", "pip", "pip3", "npm", "yarn", "gem", "cargo"),
        *("git", "docker", "podman", "go", "composer"),
    ]
)
_CURL_TRANSIENT = frozenset({7, 18, 28, 35, 52, 55, 56, 92})
_WGET_TRANSIENT = frozenset({4})
_SENDS = re.compile(
    r"-X|--request|-d|--data\S*|-F|--form\S*|-T|--upload-file|--post-\w+|--method\S*"
)
"""Options that send data: a command that changes something elsewhere is not repeated."""

PATIENCE = 20.0
"""Seconds to wait for a name to resolve or for the network to come back."""
_RETRYING = 30.0
"""Seconds that a downloader's own pauses may take."""
PAUSE = 3.0
"""Seconds before a transfer that was cut off is repeated."""


def _is_cut_off(failure: FailedCommand) -> bool:
    texts = (_UNRESOLVED, _NAME_SERVICE, _UNREACHABLE)
    return bool(failure.exit_code and any(text.search(failure.output) for text in texts))


def _wait_for_name(failure: FailedCommand, _: Probe) -> Proposal | None:
    """Repeat only once the name resolves or the host has a route out."""
    found = _UNRESOLVED.search(failure.output)
    host = next((group for group in found.groups() if group), "") if found else ""
    until = f"getent hosts {host}" if _HOST.fullmatch(host) else "ip route get 192.0.2.1"
    return Proposal(failure.command, until=until, patience=PATIENCE)


def _downloads(failure: FailedCommand) -> list[PlacedCommand]:
    return [
        simple
        for simple in failure.commands
        if simple.name in _DOWNLOADERS
        and simple.program
        and not any(_SENDS.match(word.text) for word in simple.arguments)
    ]


def _download_was_cut(failure: FailedCommand) -> bool:
    if not failure.exit_code or not _downloads(failure):
        return False
    name = _downloads(failure)[0].name
    known = _CURL_TRANSIENT if name == "curl" else _WGET_TRANSIENT
    return failure.exit_code in known or bool(_RESET.search(failure.output))


def _retry(failure: FailedCommand, _: Probe) -> Proposal | None:
    """Let the downloader itself try again."""
    simple = _downloads(failure)[0]
    if simple.program is None or "--retry" in failure.command or "--tries" in failure.command:
        return None
    flags = (
        " --retry 3 --retry-delay 2 --retry-connrefused"
        if simple.name == "curl"
        else " --tries=4 --waitretry=2 --retry-connrefused --retry-on-http-error=502,503,504"
    )
    return Proposal(insert(failure.command, simple.program.end, flags), allowance=_RETRYING)


def _fetch_was_cut(failure: FailedCommand) -> bool:
    fetches = any(simple.name in _FETCHERS for simple in failure.commands)
    return bool(failure.exit_code and fetches and _RESET.search(failure.output))


def _repeat(failure: FailedCommand, _: Probe) -> Proposal | None:
    """Repeat unchanged: these programs start again or resume by themselves."""
    pushes = any(w.text in ("push", "publish") for s in failure.commands for w in s.arguments)
    return None if pushes else Proposal(failure.command, pause=PAUSE)


WAIT_FOR_NETWORK = Correction(
    "wait_for_network",
    "waited for the name to resolve or the network to come back, and repeated",
    _is_cut_off,
    _wait_for_name,
)
RETRY_DOWNLOAD = Correction(
    "retry_download", "let the download try again by itself", _download_was_cut, _retry
)
REPEAT_FETCH = Correction(
    "repeat_fetch", "repeated a transfer that was cut off", _fetch_was_cut, _repeat
)
