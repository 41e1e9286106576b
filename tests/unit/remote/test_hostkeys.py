"""Public host keys as text."""

import pytest

from shared.domain.errors import Misconfigured
from shared.domain.host import Host
from shared.domain.next_step import command_line
from workers.shells.remote.hostkeys import HostKey, parse_host_key, pinned_key

LINE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"


def test_a_key_is_read_and_written_alike() -> None:
    """Comment and spaces aside."""
    key = parse_host_key(f" {LINE} root@web1\n")

    assert key.line == LINE
    assert key == parse_host_key(LINE)
    assert key.key_type == "ssh-ed25519"


def test_a_fingerprint_is_the_one_people_know() -> None:
    """As `ssh-keygen -l` prints it."""
    key = parse_host_key(LINE)
    assert key.fingerprint == "SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA"
    assert str(key) == f"ssh-ed25519 {key.fingerprint}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ssh-ed25519",
        "ssh-ed25519 !!!",
        "ssh-ed25519 AAAA",
        f"ssh-rsa {LINE.split()[1]}",
        "a  b",
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    """With a sentence."""
    with pytest.raises(ValueError, match=r"key"):
        parse_host_key(text)


def test_an_rsa_key_is_proved_with_sha2() -> None:
    """Its name is not that of an algorithm any more."""
    assert HostKey("ssh-rsa", b"").algorithms == ("rsa-sha2-512", "rsa-sha2-256")
    assert HostKey("ssh-ed25519", b"").algorithms == ("ssh-ed25519",)


@pytest.mark.parametrize("text", [None, "", "no key"])
def test_a_host_without_a_key_says_how_to_get_one(text: str | None) -> None:
    """Only enrolment can."""
    with pytest.raises(Misconfigured) as caught:
        pinned_key(Host("web1", host_key=text))
    assert caught.value.stage == "host_key"
    assert command_line(caught.value.next_step) == "replan host add web1 --replace-host-key"
