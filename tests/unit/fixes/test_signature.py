"""The same failure has the same signature wherever it happens; other failures have others."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.fix import FailurePattern
from tests.unit.fixes.given import bundle
from workers.fixes.family import family
from workers.fixes.signature import failure_of

INSTALL = {"command": "apt-get install -y nginx", "exit_code": 100}
ABSENT = "Reading package lists...\nE: Unable to locate package nginx\n"


def pattern_of(*failed: dict[str, Any], host: str = "web1", **snapshot: str) -> FailurePattern:
    """The failure of a step whose subtasks have all failed as described."""
    found = failure_of(bundle(*failed, host=host, **snapshot), "10.0.0.7")
    assert found is not None
    return found


SAME = {
    "temporary files": (
        {"command": "sed -i s/a/b/ x", "stderr": "sed: couldn't open file /etc/shop/sedAbC12x"},
        {"command": "sed -i s/a/b/ x", "stderr": "sed: couldn't open file /etc/shop/sedzZ9kLm"},
    ),
    "another package": (
        INSTALL | {"stderr": ABSENT},
        {"command": "apt-get install -y redis", "exit_code": 100}
        | {"stderr": "E: Unable to locate package redis\n"},
    ),
    "another port, process and time": (
        {
            "command": "./serve --port 8080",
            "stderr": "2026-01-02 03:04:05 serve[812]: bind 0.0.0.0:8080: Address already in use",
        },
        {
            "command": "./serve --port 9090",
            "stderr": "2026-07-08 09:10:11 serve[9]: bind 0.0.0.0:9090: Address already in use",
        },
    ),
    "another folder": (
        {"command": "cp a /srv/one/x", "stderr": "cp: cannot create '/srv/one/x': No such file"},
        {"command": "cp a /srv/two/x", "stderr": "cp: cannot create '/srv/two/x': No such file"},
    ),
    "a unit with and without its kind": (
        {"command": "systemctl start a", "stderr": "Unit a.service not found."},
        {"command": "systemctl start b", "stderr": "Unit b.service not found."},
    ),
    "quotes of another language": (
        {"command": "cat x", "stderr": "cat: \u2018x\u2019: No such file or directory"},
        {"command": "cat x", "stderr": "cat: 'x': No such file or directory"},
    ),
    "what a command that timed out had printed so far": (
        {"command": "./wait", "outcome": "timed_out", "exit_code": None, "stdout": "a"},
        {"command": "./wait", "outcome": "timed_out", "exit_code": None, "stdout": "b\nc"},
    ),
    "a correction tried in between": (
        INSTALL | {"stderr": ABSENT},
        INSTALL | {"stderr": ABSENT, "reason": "exit code 100"},
    ),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_the_samefailure_at(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    one, other = (pattern_of(each) for each in pair)
    assert one.told == other.told
    assert one.signature == other.signature


def test_the_name_of_the_host_is_no_part_of_it() -> None:
    def failure_at(name: str) -> FailurePattern:
        said = {"command": f"./join {name}", "stderr": f"{name}: 10.0.0.7 refuses {name}"}
        return pattern_of(said, host=name)

    assert failure_at("web1").signature == failure_at("db").signature
    assert failure_at("web1").hosts == ("web1", "10.0.0.7")
    assert "web1" not in str(failure_at("web1").told)


DIFFERENT = (
    INSTALL | {"stderr": ABSENT},
    INSTALL | {"stderr": "E: Could not get lock /var/lib/dpkg/lock-frontend"},
    INSTALL | {"stderr": ABSENT, "exit_code": 1},
    {"command": "apt-get remove -y nginx", "exit_code": 100, "stderr": ABSENT},
    {"command": "apt-get install nginx", "exit_code": 100, "stderr": ABSENT},
    {"command": "dnf install -y nginx", "stderr": "No match for argument: nginx"},
    {"command": "systemctl start nginx", "stderr": "Unit nginx.service not found."},
    {"command": "cp a /etc/nginx/x", "stderr": "cp: Permission denied"},
    {"command": "cp a /etc/apache2/x", "stderr": "cp: Permission denied"},
    {"command": "cp a /etc/nginx/x", "stderr": "cp: No space left on device"},
    {"command": "./go", "outcome": "timed_out", "exit_code": None},
    {"command": "./go", "outcome": "check_failed", "exit_code": 0, "check": "test -e x"},
    {"command": "./go", "outcome": "check_failed", "exit_code": 0, "check": "test -e y"},
    {"command": "./go", "outcome": "precondition_unmet", "check": "test -e x"},
    {"command": "./go", "outcome": "precondition_unmet", "check": "test -e y"},
)


def test_different_failures_do_not_collide() -> None:
    found = [pattern_of(each) for each in DIFFERENT] + [pattern_of(*DIFFERENT[:2])]
    assert len({each.signature for each in found}) == len(found)


def test_what_came_to_a_good_end_is_nofailure_at() -> None:
    told_of = bundle({"command": "true", "outcome": "ok", "exit_code": 0})
    assert failure_of(told_of) is None


def test_a_host_that_showed_nothing_of_itself_has_no_family() -> None:
    assert failure_of(bundle(INSTALL, os="no such program")) is None


@pytest.mark.parametrize(
    ("os", "platform", "kind"),
    [
        (
            "ID=debian\nVERSION_ID='12'",
            "/usr/bin/apt-get\n/run/systemd/system",
            "debian 12, apt-get, systemd",
        ),
        ("ID=alpine\nVERSION_ID=3.19.1", "/sbin/apk\n/run/openrc", "alpine 3.19, apk, openrc"),
        ("ID=arch", "/usr/bin/pacman", "arch, pacman, no init"),
        (
            'NAME=x\nID="rocky"\nVERSION_ID="9.3"',
            "/usr/bin/dnf\n/usr/bin/yum",
            "rocky 9.3, dnf, no init",
        ),
    ],
)
def test_the_kind_of_a_host(os: str, platform: str, kind: str) -> None:
    assert family({"os": os, "platform": platform}) == kind


NUMBERS = st.integers(min_value=0, max_value=99_999)


@settings(max_examples=100, deadline=None)
@given(NUMBERS, NUMBERS)
def test_numbers_never_tell_two_failures_apart(one: int, other: int) -> None:
    def failure_at(number: int) -> str:
        said = f"serve: {number}: port {number} is in use by process {number * 7}"
        return pattern_of({"command": f"./serve -p {number}", "stderr": said}).signature

    assert failure_at(one) == failure_at(other)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_output_can_be_told(command: str, output: str) -> None:
    failure_of(bundle({"command": command, "stderr": output}))
