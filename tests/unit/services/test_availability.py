"""What cannot be had is missed where nothing may be left out, and nowhere else."""

import pytest

from tests.services.availability import UnavailableError, give_up


def test_under_ci_a_missing_tool_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no fish"):
        give_up(UnavailableError("no fish"))


def test_elsewhere_it_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no fish"):
        give_up(UnavailableError("no fish"))
