"""What a person should know about a repository, read from what the scripts tell."""

import posixpath
from collections.abc import Iterator
from itertools import pairwise

from shared.domain.target import RepositoryNotice
from shared.domain.workspace import Notice
from workers.agents.workspaces.script import Fields, value

_FLAGS = (RepositoryNotice.BARE, RepositoryNotice.SHALLOW, RepositoryNotice.LFS)


def notices(fields: Fields) -> tuple[Notice, ...]:
    """Every notice, with the files that it is about."""
    found = [Notice(kind) for kind in _FLAGS if value(fields, kind)]
    uncommitted = int(value(fields, RepositoryNotice.UNCOMMITTED) or 0)
    if uncommitted:
        found.append(Notice(RepositoryNotice.UNCOMMITTED, count=uncommitted))
    out = links_out(fields)
    if out:
        found.append(Notice(RepositoryNotice.LINKS_OUT, out, len(out)))
    return tuple(found)


def links_out(fields: Fields) -> tuple[str, ...]:
    """The symbolic links that lead out of the tree; one whose target was cut off does not count."""
    return tuple(path for path, target in _links(fields) if _leads_out(path, target))


def _links(fields: Fields) -> Iterator[tuple[str, str]]:
    """The links with their targets, each of which follows its link at once."""
    for (name, path), (next_name, target) in pairwise(fields):
        if (name, next_name) == ("link", "target"):
            yield path, target


def _leads_out(path: str, target: str) -> bool:
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return end == ".." or end.startswith(("/", "../"))
