"""The names of workspaces."""

import pytest

from shared.domain.workspace_name import WorkspaceName

RUN = "ab" * 16


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (WorkspaceName(RUN, 3), f"{RUN}-3"),
        (WorkspaceName(RUN, 3, 1), f"{RUN}-3.1"),
        (WorkspaceName(RUN, None), f"{RUN}-main"),
    ],
)
def test_a_name_is_written_and_read(name: WorkspaceName, text: str) -> None:
    assert str(name) == text
    assert WorkspaceName.parse(text) == name


@pytest.mark.parametrize(
    "text", ["T12.3", f"{RUN}-0", f"{RUN}-3.0", f"{RUN}-main.1", f"{RUN}-3.1.1"]
)
def test_what_is_not_a_name_is_not_read(text: str) -> None:
    assert WorkspaceName.parse(text) is None
