"""The table of roles and the acts are one list."""

import inspect
from importlib import import_module
from pkgutil import iter_modules

import pytest

from orchestrator import acts
from orchestrator.access.roles import ON_THE_MACHINE, VERBS
from orchestrator.acts.verbs import ACTS

for module in iter_modules(acts.__path__, "orchestrator.acts."):
    import_module(module.name)


def test_every_verb_that_changes_something_is_an_act() -> None:
    assert {verb for verb, its in VERBS.items() if its.changes} <= ACTS.keys()


def test_every_act_stands_in_the_table() -> None:
    assert ACTS.keys() <= VERBS.keys() | ON_THE_MACHINE


@pytest.mark.parametrize("verb", sorted(ACTS))
def test_an_act_says_what_it_does(verb: str) -> None:
    act = ACTS[verb]
    assert next(iter(inspect.signature(act).parameters)) == "caller"
    assert inspect.getdoc(act)
