"""What is particular to each provider of models, apart from its protocol."""

import shlex
import sys
from dataclasses import dataclass
from importlib.util import find_spec

from shared.domain.config import ModelProvider
from shared.domain.errors import Misconfigured
from shared.domain.next_step import Advice, ShellCommand

_CHAT, _MESSAGES = "the Chat Completions API", "the Messages API"


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """`sign_in` is what a person types so that the provider accepts the questions.

    `library` has to be importable, and `requirement` installs it. `names_models` is False where
    the default model of this program has no name that is right for everybody.
    """

    protocol: str
    sign_in: ShellCommand
    library: str = "anthropic"
    requirement: str = "anthropic"
    names_models: bool = True

    def require_library(self, provider: ModelProvider) -> None:
        """Raise Misconfigured if the provider's library is not installed."""
        if _is_installed(self.library):
            return
        raise Misconfigured(
            f"the provider {provider} needs the library {self.library}, which is not installed "
            "where this worker runs",
            stage="model",
            next_step=install(self.requirement),
        )


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # the package that the module belongs to
        return False


def install(requirement: str) -> Advice:
    """The command that adds a library to this installation."""
    return ShellCommand(f"{sys.executable} -m pip install {shlex.quote(requirement)}")


_BEDROCK = ProviderInfo(
    _MESSAGES,
    ShellCommand("aws configure"),
    library="boto3",
    requirement="anthropic[bedrock]",
    names_models=False,
)

PROVIDERS = {
    ModelProvider.ANTHROPIC: ProviderInfo(_MESSAGES, ShellCommand("export ANTHROPIC_API_KEY=KEY")),
    ModelProvider.OPENAI: ProviderInfo(
        _CHAT,
        ShellCommand("export OPENAI_API_KEY=KEY"),
        library="openai",
        requirement="openai",
        names_models=False,
    ),
    ModelProvider.BEDROCK: _BEDROCK,
    ModelProvider.BEDROCK_MANTLE: _BEDROCK,
    ModelProvider.VERTEX: ProviderInfo(
        _MESSAGES,
        ShellCommand("gcloud auth application-default login"),
        library="google.auth",
        requirement="anthropic[vertex]",
    ),
    ModelProvider.FOUNDRY: ProviderInfo(
        _MESSAGES, ShellCommand("export ANTHROPIC_FOUNDRY_API_KEY=KEY")
    ),
}

SET_MODEL = ShellCommand("export REPLAN_MODEL=NAME")

SET_WHERE_PLANNERS_RUN = (SET_MODEL, *(info.sign_in for info in PROVIDERS.values()))
"""What helps only in the environment of the planners, which they read when they start."""
