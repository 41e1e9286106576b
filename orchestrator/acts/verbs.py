"""One function for each verb that acts: registered, and called only for those who may."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done

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
            return _with_remarks(caller, function(caller, *args, **kwargs))

        ACTS[verb] = act_if_allowed
        return act_if_allowed

    return register


def _with_remarks(caller: Caller, result: R) -> R:
    """The result with what the caller should know besides, told once."""
    if not isinstance(result, Done) or not caller.remarks:
        return result
    told = tuple(dict.fromkeys(caller.remarks))
    caller.remarks.clear()
    return cast("R", replace(result, notes=(*result.notes, *told)))
