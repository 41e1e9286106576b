"""Secrets in commands: as real shells read what is made of them."""

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.errors import Rejected
from shared.secrets.expansion import to_environment, variable
from tests.services.shells import shell_for_tests

VALUE = "a  b'c\"d$HOME`id`\\e*\n;exit 9"
SHELLS = ("dash", "bash", "busybox")


def said(shell: str, command: str, value: str = VALUE) -> str:
    """What the command prints when A and B hold the value."""
    text, names = to_environment(command)
    assert "secret:" not in text
    words = [str(shell_for_tests(shell)), *(["sh"] if shell == "busybox" else [])]
    environment = {variable(name): value for name in names} | {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [*words, "-c", text], env=environment, capture_output=True, check=False, timeout=30
    )
    return done.stdout.decode()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("printf '<%s>' ${secret:A}", f"<{VALUE}>"),
        ("printf '<%s>' x${secret:A}y", f"<x{VALUE}y>"),
        ("printf '<%s>' \"it is ${secret:A}.\"", f"<it is {VALUE}.>"),
        ("printf '<%s>' \"${secret:A}${secret:B}\"", f"<{VALUE}{VALUE}>"),
        ("X=${secret:A}; printf '<%s>' \"$X\"", f"<{VALUE}>"),
        ("X=${secret:A} sh -c 'printf \"<%s>\" \"$X\"'", f"<{VALUE}>"),
        ("sh -c 'printf \"<%s>\" \"$1\"' sh ${secret:A}", f"<{VALUE}>"),
        ("printf '<%s>' \"$(printf %s ${secret:A})\"", f"<{VALUE}>"),
        ("printf '<%s>' \"$(printf %s \"${secret:A}\")\"", f"<{VALUE}>"),
        ("cat <<END\n\"${secret:A}\" it's\nEND\necho after", f"\"{VALUE}\" it's\nafter\n"),
        ('cat <<-END; echo "${secret:A}"\n\t${secret:B}\n\tEND\n', f"{VALUE}\n{VALUE}\n"),
        ("cat <<'END'; printf %s ${secret:A}\n'\"$x\nEND\n", f"'\"$x\n{VALUE}"),
        ("# don't\nprintf %s ${secret:A}", VALUE),
        ("echo a#'b' ; printf %s ${secret:A}", f"a#b\n{VALUE}"),
        ("( printf %s ${secret:A} )", VALUE),
        ("case x in x) printf %s ${secret:A};; esac", VALUE),
        ('printf %s "$(case x in x) printf %s b;; esac)" ${secret:A}', f"b{VALUE}"),
        ("echo $((1 + (2)))${secret:A}", f"3{VALUE}\n"),
        ('echo ${x:-"}"}${secret:A}', f"}}{VALUE}\n"),
        ("printf %s 'it'\\''s' ${secret:A}", f"it's{VALUE}"),
        ('printf %s \\"${secret:A}\\"', f'"{VALUE}"'),
    ],
)  # fmt: skip
def test_a_shell_sees_the_value_as_one_word(shell: str, command: str, printed: str) -> None:
    if "echo" in command and shell != "bash":
        # their echo reads backslashes
        value = VALUE.replace("\\e", "e")
        assert said(shell, command, value) == printed.replace(VALUE, value)
    else:
        assert said(shell, command) == printed


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("echo '${secret:A}'", "single quotes"),
        ("sh -c 'mysql -p${secret:A}'", "sh -c '… \"$1\" …' sh ${secret:NAME}"),
        ("echo $'x${secret:A}'", "$'…'"),
        ("cat <<'END'\n${secret:A}\nEND", "write <<END without quotes"),
        ("cat <<\\END\n${secret:A}\nEND", "write <<END without quotes"),
        ("echo \\${secret:A}", "leave the backslash out"),
        ('echo "\\${secret:A}"', "leave the backslash out"),
        ("echo `echo ${secret:A}`", "write $(…)"),
        ('echo "`echo ${secret:A}`"', "write $(…)"),
        ("echo ${x:-${secret:A}}", "a variable of its own"),
        ("echo $((${secret:A}))", "a variable of its own"),
        ("echo ${secret:1A}", "is not a valid name of a secret"),
        ("echo ${secret:}", "is not a valid name of a secret"),
        ("echo ${Secret:A}", "is not a valid name of a secret"),
        ("echo ${secret: A}", "is not a valid name of a secret"),
        ("echo ${secret:A", "has no `}`"),
        ("echo '${secret:a-b}'", "is not a valid name of a secret"),
    ],
)  # fmt: skip
def test_where_a_shell_would_not_expand_it_it_is_refused(command: str, says: str) -> None:
    with pytest.raises(Rejected) as caught:
        to_environment(command)
    assert says in caught.value.reason
    assert caught.value.stage == "secrets"
    assert caught.value.next_step


def test_names_are_given_once_in_their_order() -> None:
    text, names = to_environment('x ${secret:B} ${secret:A} "${secret:B}"')
    assert names == ("B", "A")
    assert text == 'x "${REPLAN_SECRET_B}" "${REPLAN_SECRET_A}" "${REPLAN_SECRET_B}"'


@pytest.mark.parametrize(
    "command", ["true", "echo $$ ${secret}", "echo secret:A", "echo '$' {secret:A}"]
)
def test_what_names_no_secret_stays_as_it_is(command: str) -> None:
    assert to_environment(command) == (command, ())


PARTS = ["'", '"', "\\", "$", "(", ")", "{", "}", "`", "#", "<<E", "<<'E'", "\n", "E\n", " ", "a",
         ";", "${secret:A}", "$(", "$((", "${x:-", "$'"]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
@settings(max_examples=300, deadline=None)
def test_bash_never_reads_the_value_as_code(command: str) -> None:
    """Whatever stands around it: the command is refused, or no word of the value is run."""
    try:
        text, names = to_environment(command)
    except Rejected:
        return
    if not names:
        return
    environment = {"REPLAN_SECRET_A": "$(echo RUN >&2);`echo RUN >&2`", "PATH": "/nonexistent"}
    done = subprocess.run(
        ["/bin/bash", "-c", text], env=environment, capture_output=True, check=False, timeout=30,
        stdin=subprocess.DEVNULL, cwd="/proc",
    )  # fmt: skip
    assert b"RUN" not in done.stderr.splitlines()
