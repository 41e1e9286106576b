"""Gates about what is neither file nor folder: submodules, and symbolic links that lead out."""

from collections.abc import Iterator, Mapping
from typing import Final

from shared.domain.findings import Effect, Finding, GateRule
from workers.deliveries.changes import GITLINK, SYMLINK
from workers.deliveries.gates.names import is_git
from workers.deliveries.gates.values import GateInput

_MOST_HOPS: Final = 40
"""Links that Linux follows in one path."""


def find_submodules(given: GateInput) -> Iterator[Finding]:
    """Commits of other repositories: a stray clone would be lost without a trace."""
    for change in given.changes:
        if change.new_mode == GITLINK:
            yield Finding(GateRule.SUBMODULE, Effect.REFUSE, change.path, change.new_oid)


def find_links_out(given: GateInput) -> Iterator[Finding]:
    """Links that lead out of the tree, and did not before.

    A link of the base leads out, too, once a folder on its way becomes a link.
    """
    old = dict(given.links)
    new = links_after(given)
    for path, target in new.items():
        if leads_out(path, new) and not (old.get(path) == target and leads_out(path, old)):
            yield Finding(GateRule.LINK_OUT, Effect.REFUSE, path, target)


def links_after(given: GateInput) -> dict[str, str]:
    """The symbolic links of the tree with the delivery, with their targets."""
    gone = {change.path for change in given.changes if change.old_mode == SYMLINK}
    kept = {path: target for path, target in given.links.items() if path not in gone}
    return kept | {change.path: target for change, target in given.added_links}


def leads_out(path: str, links: Mapping[str, str]) -> bool:
    """Whether the link at the path leads out of the tree, or into git's own folder.

    One that leads in a circle, or to nothing, leads nowhere.
    """
    at = path.split("/")[:-1]
    names = links[path].split("/")
    if links[path].startswith("/"):
        return True
    hops = 0
    while names:
        name = names.pop(0)
        if name in {"", "."}:
            continue
        if name == "..":
            if not at:
                return True
            at.pop()
            continue
        if not at and is_git(name):
            return True
        target = links.get("/".join((*at, name)))
        if target is None:
            at.append(name)
            continue
        hops += 1
        if target.startswith("/"):
            return True
        if hops > _MOST_HOPS:
            return False
        names = target.split("/") + names
    return False
