"""Questions that services answer in a plain protocol: what is sent to them changes nothing."""

import re

from shared.guard.words import Run

_QUESTION = re.compile(
    # the sockets of haproxy
    r"(?i:show (?:stat|info|sess|pools|errors|activity|version|backend|servers (?:state|conn)"
    r"|table|map|acl|cache|peers|resolvers|threads|schema json)(?: [\w./#-]+)*"
    # memcached, ZooKeeper, Redis
    r"|stats(?: (?:items|slabs|sizes|settings|conns))?|version|ruok|stat|srvr|mntr|isro|wchs|dirs"
    r"|ping|dbsize|info(?: \w+)?|lastsave|role|quit|)"
)
_ENDS = re.compile(r"(?:\\r|\\n|;|\n|\r)+")
_SAYS = frozenset({"echo", "printf"})


def asks(run: Run) -> bool:
    """Whether all that a run has on its standard input are questions of that kind."""
    said = [feeder for feeder in run.feeders if feeder.argv]
    return (
        bool(said)
        and all(feeder.program in _SAYS for feeder in said)
        and all(_is_question(feeder) for feeder in said)
    )


def _is_question(run: Run) -> bool:
    words = [word.literal for word in run.argv[1:]]
    if None in words:
        return False
    told = " ".join(word for word in words if word not in ("-e", "-n", "-en", "-ne"))  # type: ignore[misc]
    return all(_QUESTION.fullmatch(part.strip()) for part in _ENDS.split(told))
