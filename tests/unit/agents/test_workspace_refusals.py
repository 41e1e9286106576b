"""The errors of workspaces: each has its sentence, its family and what to do next."""

import pytest

from shared.domain.errors import Misconfigured, Rejected, Transient
from shared.domain.next_step import command_line
from shared.domain.target import Repository, RepositoryFault
from workers.agents.workspaces.refusals import Code, refusal
from workers.agents.workspaces.script import parse, script, value, values

HERE = Repository("app", "web1", path="/srv/app")
FAR = Repository("app", "web1", url="https://example.org/app.git")


@pytest.mark.parametrize("code", [*Code, *RepositoryFault])
def test_every_code_has_a_sentence(code: Code | RepositoryFault) -> None:
    """It names the repository, and what it is about where there is something."""
    error = refusal(HERE, (("error", code.value), ("detail", "THAT\n"), ("exit_code", "7")))

    assert error.reason.startswith("the repository app: ")
    assert "{" not in error.reason
    assert "\n" not in error.reason
    assert command_line(error.next_step)
    assert isinstance(error, Misconfigured | Rejected)


def test_a_url_that_cannot_be_reached_is_tried_again() -> None:
    """A folder that cannot be read has to be put right."""
    fields = (("error", "unreachable"), ("detail", "no route to host"))

    assert isinstance(refusal(FAR, fields), Transient)
    assert isinstance(refusal(HERE, fields), Misconfigured)
    assert command_line(refusal(FAR, fields).next_step) == f"git ls-remote -- {FAR.url}"


def test_only_a_few_of_many_names_are_listed() -> None:
    """The rest is counted."""
    lines = "\n".join(f"lib{number}" for number in range(20))
    error = refusal(HERE, (("error", "submodules"), ("detail", lines)))

    assert "lib7 and 12 more" in error.reason


def test_fields_end_with_a_nul() -> None:
    """What was cut off is no field; bytes that are no text are written out."""
    fields = parse(b"tree=1\0file=A\xff\n=\0file=\0noise\0file=cut")

    assert values(fields, "file") == ("A\\xff\n=", "")
    assert (value(fields, "tree"), value(fields, "absent")) == ("1", "")


def test_a_script_quotes_what_it_is_given() -> None:
    """The home is the only thing that the shell looks up."""
    text = script(("trees",), HERE, "~/.re plan", ("links", "a'b"), {"limit": 1, "label": None})
    first, last = text.splitlines()[0], text.splitlines()[-1]

    assert first == "place=\"$HOME\"'/.re plan'/app path=/srv/app name=app limit=1 label=''"
    assert last == "links 'a'\"'\"'b'"
