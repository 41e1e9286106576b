"""What git says of a remote, read once and given as values; pure.

Git has one exit code for a remote that is away and for one that refuses us: only its words, in
English because the scripts set `LC_ALL=C`, tell one from the other.
"""

import re
from enum import StrEnum

_LINE = re.compile(r"^([ +*=!-])\t[^\t\n]*:(refs/[^\t\n]*)\t(?:\[([a-z ]+)\])?", re.MULTILINE)
"""A line of `git push --porcelain`. What the other side prints stands behind `remote: `."""

_REFUSES_US = re.compile(
    r"""
    Permission\ denied | Permission\ to\ .*\ denied | Authentication\ failed | access\ denied
    | could\ not\ read\ (Username|Password) | Host\ key\ verification\ failed
    | REMOTE\ HOST\ IDENTIFICATION\ HAS\ CHANGED | returned\ error:\ 40[13] | HTTP\ 40[13]
    | repository\ .*\ not\ found | Repository\ not\ found | returned\ error:\ 404
    | does\ not\ appear\ to\ be\ a\ git\ repository | dubious\ ownership | not\ a\ git\ repository
    | insufficient\ permission | does\ not\ support\ --atomic | service\ not\ enabled
    | transport\ '.*'\ not\ allowed | protocol\ '.*'\ is\ not\ supported
    | is\ not\ a\ valid\ repository | certificate
    | aborted\ by\ hook | fsck\ error | not\ allowed\ to | unable\ to\ find\ remote\ helper
    """,
    re.IGNORECASE | re.VERBOSE,
)


class PushEnd(StrEnum):
    """How a push ended, as far as git says; only a look at the remote tells what it has now."""

    DONE = "done"
    MOVED = "moved"  # the branch there is not what it was when we looked
    REFUSED = "refused"  # the other side said no
    LOST = "lost"  # its answer did not arrive


_ENDS = {"rejected": PushEnd.MOVED, "remote rejected": PushEnd.REFUSED}


def refuses_us(said: str) -> bool:
    """Whether a remote can be reached and lets us not in: trying again later is no use."""
    return _REFUSES_US.search(said) is not None


def push_end(said: str, exit_code: int, ref: str) -> PushEnd:
    """What the output of `git push --porcelain` says of that branch."""
    for flag, pushed, status in _LINE.findall(said):
        if pushed == ref:
            return _ENDS.get(status, PushEnd.LOST) if flag == "!" else PushEnd.DONE
    if exit_code == 0:
        return PushEnd.DONE
    return PushEnd.REFUSED if refuses_us(said) else PushEnd.LOST


def shown(said: str) -> str:
    """The lines of git and of the other side that say why, without those that only report."""
    lines = [line.strip() for line in said.splitlines()]
    noise = ("To ", "Done", "error: failed to push some refs", "hint:")
    return "\n".join(line for line in lines if line and not line.startswith(noise))[-_MOST:]


_MOST = 2_000
