"""A cause is a value; its words are made where it is shown."""

import pytest

from shared.domain.cause import Cause, CauseKind, describe_cause


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (
            Cause(CauseKind.UNIT_FAILED, "site.service", 1, state="exit-code, 1", line="no such"),
            "the unit site.service has failed (exit-code, 1): no such",
        ),
        (
            Cause(CauseKind.PORT_HELD, "8080", by="legacy.service", pid=42),
            "port 8080 is held by legacy.service (process 42)",
        ),
        (Cause(CauseKind.PORT_HELD, "80"), "port 80 is held by something unknown"),
        (
            Cause(
                CauseKind.PATH_DENIED,
                "/srv/app/x",
                by="/srv/app",
                state="drwx------ root root",
                account="www",
            ),
            "the rights of /srv/app bar access to /srv/app/x for www (drwx------ root root)",
        ),
        (
            Cause(CauseKind.PATH_MISSING, "/srv/x/y", by="/srv/x"),
            "/srv/x/y does not exist, because there is no /srv/x",
        ),
        (Cause(CauseKind.PATH_MISSING, "/srv/x", by="/srv/x"), "/srv/x does not exist"),
        (
            Cause(CauseKind.DISK_FULL, "/var", measure="100 % of 20G"),
            "the file system at /var is full (100 % of 20G)",
        ),
    ],
)
def test_a_cause_in_words(cause: Cause, words: str) -> None:
    assert describe_cause(cause) == words


@pytest.mark.parametrize("kind", CauseKind)
def test_every_kind_has_words_with_its_subject(kind: CauseKind) -> None:
    assert "{" not in describe_cause(Cause(kind, "web1"))
    assert "web1" in describe_cause(Cause(kind, "web1"))
