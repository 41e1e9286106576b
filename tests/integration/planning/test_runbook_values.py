"""The text of a value is never run: a real shell reads the filled-in commands."""

import subprocess
from pathlib import Path

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from shared.runbook.template import faults, fill

PIECES = st.sampled_from(
    [
        " ${value} ", "${value}", '"${value}"', "'${value}'", '"', "'", "\\", "`", "#", " # ", "\n",
        "$(echo ", ")", "<<END\n", "<<'END'\n", "\nEND\n", "a", " ", "\\'", '\\"', "; ", '"$(cat ',
        "|", "$((", "))", "case x in x) ", ";; esac ", "{ ", "; }",
    ]
)  # fmt: skip
VALUE = st.sampled_from([" ${value} ", "${value}", '"${value}"', "'${value}'"])
AROUND = st.lists(PIECES, max_size=3)
HOSTILE = st.sampled_from(
    [
        "$(touch canary)", "`touch canary`", "'; touch canary; '", '"; touch canary; "',
        "\"'; touch canary; '\"", "x; touch canary #", "\ntouch canary\n", "\nEND\ntouch canary\n",
        "'\"; touch canary\n#", "\\'; touch canary; \\'", "$(touch canary)'", "')\"; touch canary",
    ]
)  # fmt: skip


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture],
)
@example(pieces=["<<END\n", "${value}", "\nEND\n"], value="$(touch canary)")
@example(pieces=['"${value}"'], value="$(touch canary)")
@example(pieces=["'${value}'"], value="; touch canary; #")
@example(pieces=[" # ", "${value}"], value="\ntouch canary\n")
@example(pieces=["`", "echo ", "${value}", "`"], value="`touch canary`")
@given(
    pieces=st.tuples(AROUND, VALUE, AROUND).map(lambda parts: [*parts[0], parts[1], *parts[2]]),
    value=HOSTILE,
)
def test_a_command_that_is_let_pass_carries_out_nothing_of_a_value(
    tmp_path: Path, pieces: list[str], value: str
) -> None:
    command = "printf %s " + "".join(pieces)
    assume(not faults({"run": command}, {"value"}))
    filled = fill({"run": command}, {"value": value})["run"]
    subprocess.run(
        ["/bin/sh", "-c", filled],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert not (tmp_path / "canary").exists(), filled
