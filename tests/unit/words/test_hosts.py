"""An enrolled host in words."""

import pytest

from orchestrator.views.host_details import HostDetails
from orchestrator.words.hosts import describe
from shared.domain.host import ConnectionKind, Host, SudoFound

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGdXb2Z0aGlzaXNub3RhcmVhbGtleWJ1dGxvbmc0"
HOST = Host("web1", user="deploy", host_key=KEY, key_path="/k", jump="bastion", sudo=True)


@pytest.mark.parametrize("found", [*SudoFound, None])
def test_everything_that_is_known_is_told(found: SudoFound | None) -> None:
    told = dict(describe(HostDetails(HOST, HOST.fingerprint, found)))
    assert told["where"] == "deploy@127.0.0.1:22 through bastion"
    assert told["host key"].startswith("SHA256:")
    assert told["runs as"] == "root (sudo from deploy)"
    assert ("sudo" in told) == (found is not None)


def test_the_machine_of_the_executor_has_no_address() -> None:
    here = Host("here", connection=ConnectionKind.LOCAL, labels=("env=test",), distrusted="why")
    told = dict(describe(HostDetails(here, here.fingerprint, None)))
    assert told["runs as"] == "the account of the worker"
    assert (told["labels"], told["disabled"]) == ("env=test", "why")
    assert "host key" not in told
