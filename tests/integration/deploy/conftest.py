"""What the tests of the deployment look at: the files as they are."""

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def root() -> Path:
    """The top folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def compose() -> dict[str, Any]:
    """docker-compose.yml, with its anchors resolved and its variables as they stand there."""
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


@pytest.fixture(scope="session")
def services(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every service by its name."""
    found: dict[str, dict[str, Any]] = compose["services"]
    return found
