"""A scripted model, and the backend on the real client that asks it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.settings import load_settings
from shared.store.database import Database
from tests.fakes.model_server import ModelServer, model_server
from tests.integration.planning.at_work import Installation
from workers.llm.backend import ModelBackend
from workers.llm.calls import CallRecord, NoLog
from workers.llm.model import LanguageModel
from workers.llm.settings import LlmSettings
from workers.wiring import make_worker


class Entered(NoLog):
    """A log that keeps how calls ended."""

    def __init__(self, calls: list[CallRecord], withdrawn: Callable[[], bool]) -> None:
        self._calls = calls
        self._withdrawn = withdrawn

    def withdrawal(self) -> Callable[[], bool]:
        """Whether the test wants no answer any more."""
        return self._withdrawn

    def end(self, number: int, record: CallRecord) -> None:  # noqa: ARG002 - a log's promise
        """Keep it."""
        self._calls.append(record)


class Planners:
    """The scripted model and backends that ask it; `calls` holds the recorded calls."""

    def __init__(self, model: ModelServer) -> None:
        self.model = model
        self.calls: list[CallRecord] = []
        self.withdraw_when: Callable[[], bool] = lambda: False
        self._made: list[LanguageModel] = []

    def backend(self, **environ: str) -> ModelBackend:
        """A backend as a worker makes it from its environment, with changes."""
        settings = self.settings(**environ)
        model = LanguageModel(settings, log=Entered(self.calls, self._withdrawn))
        self._made.append(model)
        return ModelBackend(model, settings)

    def settings(self, **environ: str) -> LlmSettings:
        """How the scripted model is reached, with changes."""
        given = {"HOME": "/nowhere", **self.model.environ, **environ}
        return LlmSettings.of(load_settings(given).server)

    def _withdrawn(self) -> bool:
        return self.withdraw_when()

    def close(self) -> None:
        """Close the connections."""
        for model in self._made:
            model.close()


@pytest.fixture
def planners() -> Iterator[Planners]:
    """Planners of this test alone."""
    with model_server() as model:
        made = Planners(model)
        yield made
        made.close()


@pytest.fixture
def installation(
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[Installation]:
    """One with the policy of the parameter, if there is one, as that of the site."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(getattr(request, "param", "{}\n"))
    with model_server() as model:
        environ = {
            "HOME": str(tmp_path),
            "REPLAN_DATABASE_URL": database_url,
            "REPLAN_BROKER_URL": "redis://127.0.0.1:1/0",
            "REPLAN_GUARD_POLICY": str(policy),
            **model.environ,
        }
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        database = Database(database_url)
        worker = make_worker(load_settings(environ), ["all"])
        yield Installation(database, worker, model)
        worker.close()
        database.close()
