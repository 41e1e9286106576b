"""A scripted model, and the backend on the real client that asks it."""

from collections.abc import Iterator

import pytest

from tests.fakes.model_server import ModelServer, model_server
from workers.llm.backend import AnthropicBackend
from workers.llm.calls import CallRecord
from workers.llm.model import AnthropicModel
from workers.llm.settings import LlmSettings


class Planners:
    """The scripted model and backends that ask it; what was accounted for is in `calls`."""

    def __init__(self, model: ModelServer) -> None:
        self.model = model
        self.calls: list[CallRecord] = []
        self._made: list[AnthropicModel] = []

    def backend(self, **environ: str) -> AnthropicBackend:
        """A backend as a worker makes it from its environment, with changes."""
        settings = LlmSettings.from_environ({**self.model.environ, **environ})
        model = AnthropicModel(settings, on_call=self.calls.append)
        self._made.append(model)
        return AnthropicBackend(model, settings)

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
