"""The version of the rules: what an approval is bound to beside the command."""

from shared.guard import Guard, default_entries, version_of


def test_it_changes_with_every_rule() -> None:
    guard = Guard(default_entries())
    versions = [version_of(guard, forbidden) for forbidden in ((), ("halt",), ("halt", "reboot"))]
    assert len(set(versions)) == 3
    assert version_of(Guard((*default_entries(), "halt")), ("halt",)) == versions[1]


def test_a_guard_that_knows_its_own_is_asked() -> None:
    class Versioned(Guard):
        version = "v7"

    assert version_of(Versioned(default_entries()), ("halt",)) == "v7"
