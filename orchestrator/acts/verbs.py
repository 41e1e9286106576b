"""One function for each verb that acts: registered, and called only for those who may."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from orchestrator.acts.caller import Caller

P = ParamSpec("P")
R = TypeVar("R")

ACTS: dict[str, Callable[..., Any]] = {}
"""Each verb with its function, once the module of the function has been imported."""


def act(
    verb: str,
) -> Callable[[Callable[Concatenate[Caller, P], R]], Callable[Concatenate[Caller, P], R]]:
    """Make a function the act of a verb; it runs only for a caller who `may` do the verb."""

    def register(
        function: Callable[Concatenate[Caller, P], R],
    ) -> Callable[Concatenate[Caller, P], R]:
        @wraps(function)
        def act_if_allowed(caller: Caller, /, *args: P.args, **kwargs: P.kwargs) -> R:
            caller.may(verb)
            return function(caller, *args, **kwargs)

        ACTS[verb] = act_if_allowed
        return act_if_allowed

    return register
