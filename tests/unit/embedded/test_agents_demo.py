"""What the demonstration of agents needs, and what it says where that is missing."""

from pathlib import Path

import pytest

from orchestrator.embedded import agents_demo
from shared.domain.errors import Misconfigured


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH without programs, of an installation without the extra for agents."""
    monkeypatch.setattr(agents_demo, "search_path", lambda path: path)
    return tmp_path


def test_what_is_not_installed_is_named_before_anything_starts(programs: Path) -> None:
    def missing() -> Misconfigured:
        with pytest.raises(Misconfigured) as caught:
            agents_demo.require_programs({"PATH": str(programs)})
        return caught.value

    def install(name: str) -> None:
        (programs / name).touch(mode=0o755)

    assert missing().reason.startswith("git is not installed")
    install("git")
    error = missing()
    assert error.reason.startswith("Claude Code is not installed")
    assert "claude-agent-sdk" in str(error.next_step)
    install("claude")
    agents_demo.require_programs({"PATH": str(programs)})
