"""A parameter may stand only where no value of it can become a command."""

import pytest

from shared.runbook.template import faults, parameters_in

NAMES = {"folder", "port"}


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p ${folder}",
        "mkdir -p ${folder}/www --port=${port}",
        "cat > ${folder}/a <<'END'\nno parameter\nEND",
        "cat <<END > ${folder}/a; test -e ${folder}\n$HOME\nEND\ntest -e ${folder}",
        'echo "$(cat ${folder}/port)" > ${folder}/note',
        "x=$(cat ${folder}/port) && echo $x",
        "echo it\\'s ${port}",
        "echo a#${port}",
        "test -n ${port:-x} ${HOME} \"${HOME}\" '${status}'",
        'for each in a b; do cp "${each}" ${folder}; done',
    ],
)
def test_beside_other_text_a_parameter_is_one_word(command: str) -> None:
    assert faults({"run": command}, NAMES) == []


@pytest.mark.parametrize(
    "command",
    [
        'echo "${port}"',
        "echo '${port}'",
        'echo "$(cat "${port}")"',
        "echo `cat ${port}`",
        "echo $((${port} + 1))",
        "echo done # on ${port}",
        "cat <<END\n${port}\nEND",
        "cat <<'END'\n${port}\nEND",
        "cat <<-END\n\t${port}\n\tEND",
        "sh -c 'echo ${port}'",
        'echo ${port} "${port}"',
        "echo ${port} 'not closed",
    ],
)
@pytest.mark.parametrize("key", ["run", "command", "check", "rollback"])
def test_where_its_quotes_would_not_hold_a_parameter_is_refused(key: str, command: str) -> None:
    (told,) = faults({key: command}, NAMES)[:1]
    assert told.startswith(f"{key}: ${{port}} may not stand inside")


@pytest.mark.parametrize("snippet", ["result = ${port}", "result = [${port} + '/x', f'{1}']"])
def test_in_a_snippet_a_parameter_is_a_text_of_its_own(snippet: str) -> None:
    assert faults({"kind": "code", "run": snippet}, NAMES) == []


@pytest.mark.parametrize(
    "snippet",
    ["result = '${port}'", "result = f'{${port}}'", "'''${port}'''", "# ${port}", "if ${port}"],
)
def test_in_a_snippet_a_parameter_stands_in_no_other_text(snippet: str) -> None:
    (told,) = faults({"kind": "code", "run": snippet}, NAMES)
    assert told.startswith("run: ${port} may not stand inside")


def test_the_check_of_a_snippet_is_a_shells() -> None:
    assert faults({"kind": "code", "run": "result = 1", "check": "test ${port}"}, NAMES) == []


def test_what_a_person_reads_may_have_parameters_anywhere() -> None:
    assert faults({"title": "Open '${port}' # \"${folder}\""}, NAMES) == []


def test_the_place_of_a_fault_is_told() -> None:
    document = {"steps": [{"subtasks": [{"run": "a"}, {"preconditions": ["b", "'${port}'"]}]}]}
    (told,) = faults(document, NAMES)
    assert told.startswith("steps[0].subtasks[1].preconditions[1]: ${port}")


def test_a_name_that_nearly_is_a_parameter_is_told() -> None:
    """A shell would take it as an empty variable: `rm -rf ${foldr}/www`."""
    (told,) = faults({"run": "rm -rf ${foldr}/www"}, NAMES)
    assert told == "run: ${foldr} is not a parameter; did you mean ${folder}?"


@pytest.mark.parametrize(
    "command",
    ["folders=2; echo ${folders}", "for ports in 1 2; do :; done; echo ${ports}", "echo ${file}"],
)
def test_a_variable_of_the_command_is_no_misspelt_parameter(command: str) -> None:
    assert faults({"run": command}, NAMES) == []


def test_what_is_used_is_known() -> None:
    document = {"steps": [{"title": "${folder}", "run": "echo ${port} ${other}"}]}
    assert parameters_in(document, {"folder", "port", "more"}) == {"folder", "port"}
