"""What a repository's places may be called: its URL, its remote, and its forge."""

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from orchestrator.acts.host_keys import is_loopback
from shared.domain.errors import Rejected
from shared.domain.next_step import Blank, NextStep
from shared.domain.secret import is_name
from shared.domain.target import Forge, ForgeKind, Repository

_SSH_SHAPE = r"[\w.-]+@[\w.-]+:.+"
_SCHEMES = ("https", "http", "ssh", "git", "file")
_WORD = r"(?!\.+(?:/|$))[\w.-]+"
_PROJECTS = {
    ForgeKind.GITHUB: f"{_WORD}/{_WORD}",
    ForgeKind.GITEA: f"{_WORD}/{_WORD}",
    ForgeKind.GITLAB: f"{_WORD}(?:/{_WORD})+",
}
_APIS: Final = {
    ForgeKind.GITHUB: "https://api.github.com",
    ForgeKind.GITLAB: "https://gitlab.com/api/v4",
}
"""Where the forges answer that everybody shares."""


def refusal(reason: str) -> Rejected:
    """The error for a repository that cannot be meant."""
    return Rejected(
        reason,
        stage="input",
        next_step=NextStep.of("repo add", Blank("NAME"), path=Blank("FOLDER")),
    )


def is_url(place: str) -> bool:
    """Whether a place is meant as a URL, and not as a path."""
    return "://" in place or re.fullmatch(_SSH_SHAPE, place) is not None


def is_branch(name: str) -> bool:
    """What `git check-ref-format` accepts, nearly; git itself says the rest."""
    bad = re.search(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(/|$)|(^|/)\.|\.$|/$|^/|^-", name)
    return bool(name) and bad is None


def check_url(url: str) -> None:
    """Raise Rejected for a URL that git cannot clone from, or that holds a secret."""
    if re.fullmatch(_SSH_SHAPE, url):
        return
    parts = _split(url)
    if parts.scheme not in _SCHEMES or not (parts.netloc or parts.scheme == "file"):
        raise refusal(
            f"{url!r} is not a valid URL of a repository: it begins with "
            f"{', '.join(f'{scheme}://' for scheme in _SCHEMES)} or is user@host:path"
        )
    is_web = parts.scheme in {"https", "http"}
    if parts.password is not None or (is_web and "@" in parts.netloc):
        raise refusal(
            "the URL holds a password or a token, which would be kept in the database: let git on "
            "the host know it, by a credential helper or an SSH key"
        )


def check_remote(repository: Repository) -> None:
    """Raise Rejected for a remote or a forge that cannot be published to."""
    remote, forge = repository.remote, repository.forge
    if remote is not None and not remote.startswith("/"):
        check_url(remote)
    if remote is not None and not remote.isprintable():
        raise refusal(f"{remote!r} is not a valid path of a remote")
    if forge is None:
        return
    if remote is None and repository.url is None:
        raise refusal(
            f"a request on {forge.kind} needs the branch to be there: name its URL with --remote"
        )
    _check_forge(forge)


def forge_of(
    kind: ForgeKind | None,
    *,
    project: str | None,
    token: str | None,
    into: str | None,
    api: str | None,
) -> Forge | None:
    """The forge that these options name, None for none of them. Raises Rejected for a part."""
    needed = {"--forge-project": project, "--forge-token-secret": token, "--merge-into": into}
    if kind is None:
        given = [name for name, text in {**needed, "--forge-api": api}.items() if text is not None]
        if given:
            raise refusal(f"{given[0]} is about a forge: name its kind with --forge")
        return None
    if project is None or token is None or into is None:
        missing = ", ".join(name for name, text in needed.items() if text is None)
        raise refusal(f"--forge {kind} needs {missing}, too")
    api = api or _APIS.get(kind)
    if api is None:
        raise refusal(f"--forge {kind} needs --forge-api: https://HOST/api/v1")
    return Forge(kind, api.rstrip("/"), project, into, token)


def _check_forge(forge: Forge) -> None:
    if re.fullmatch(_PROJECTS[forge.kind], forge.project) is None:
        raise refusal(f"{forge.project!r} is not a valid project of {forge.kind}: write owner/name")
    if not is_branch(forge.into):
        raise refusal(f"{forge.into!r} is not a valid name of a branch")
    if not is_name(forge.token):
        raise refusal(
            f"{forge.token!r} is not a valid name of a secret: name it, and keep the token in a "
            "vault"
        )
    parts = _split(forge.api)
    if parts.scheme not in {"https", "http"} or not parts.hostname or parts.query:
        raise refusal(f"{forge.api!r} is not a valid address of a forge: write https://HOST/PATH")
    if "@" in parts.netloc:
        raise refusal("the address of the forge holds a name or a token: keep that in a vault")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise refusal(
            f"{forge.api!r} is not encrypted, so others could read the token: write https://"
        )


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:  # such as half an IPv6 address
        return urlsplit("")
