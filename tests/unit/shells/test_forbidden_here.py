"""Whatever an installation forbids stays forbidden, whichever list a task brings."""

import pytest

from shared.domain.verdict import VerdictKind
from workers.roles.guards import Guards


@pytest.mark.parametrize("own", [(), ("reboot",), ("uptime",), ("uptime --pretty", "halt")])
def test_a_worker_forbids_what_its_own_settings_forbid(own: tuple[str, ...]) -> None:
    """A row that is older than the list, or that another program wrote, does not help."""
    guards = Guards(forbidden=("uptime",))
    assert guards(own, "web1").judge("uptime -p").kind is VerdictKind.DENY
    assert Guards()((), "web1").judge("uptime -p").kind is VerdictKind.ALLOW
    for entry in own:
        assert guards(own, "web1").judge(entry).kind is VerdictKind.DENY


def test_a_list_that_says_the_same_is_the_same_policy() -> None:
    """Otherwise an approval under one of them would not count under the other."""
    entries = ("uptime", "halt")
    here = Guards(forbidden=entries)
    versions = {here(own, "web1").version for own in ((), entries, ("halt",))}
    assert versions == {Guards()(entries, "web1").version}
