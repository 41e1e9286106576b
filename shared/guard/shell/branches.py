"""Follows pipelines, conditions and loops: all that may run, whichever way it goes."""

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

from shared.guard.paths import NOWHERE
from shared.guard.secret_words import unknown_like
from shared.guard.shell.expand import Expansion
from shared.guard.shell.loops import MOST_TURNS, grows, objection
from shared.guard.shell.scope import Scope, merge
from shared.guard.shell.streams import Effect, Input, unchanged
from shared.guard.shell.tree import AndOr, Block, Case, If, Loop, Pipeline, Statement
from shared.guard.shell.variables import changes_programs, holds_command
from shared.guard.words import Glob, Run, Word, join, number_word, unknown_word

MOST_ITEMS = 32
"""A loop over more words is followed with an unknown one."""

MOST_PASSES = 4
"""A loop that still changes variables after so many turns is followed with all unknown."""


class Branching(Protocol):
    """The walk, as branches need it."""

    @property
    def count(self) -> int:
        """How many runs have been found."""

    def doubt(self, rule: str, reason: str) -> None:
        """Record something that cannot be decided."""

    def block(self, block: Block, scope: Scope, given: Input) -> Effect:
        """Follow statements, one after the other."""

    def statement(self, statement: Statement, scope: Scope, given: Input) -> Effect:
        """Follow one statement with its redirections."""

    def expansion(self, scope: Scope) -> Expansion:
        """Expands words as this shell does."""

    def choice(self) -> AbstractContextManager[None]:
        """Commands that are followed meanwhile may not run at all."""

    def spawn(self) -> None:
        """A process is started beside this one."""

    def makers_since(self, count: int) -> tuple[Run, ...]:
        """The runs found after the first `count`, with all that feeds them."""


def follow_branches(
    walk: Branching,
    command: Pipeline | AndOr | If | Case | Loop,
    scope: Scope,
    given: Input,
) -> Effect:
    """Follow every way that a command may take."""
    match command:
        case Pipeline(stages):
            return _pipeline(walk, stages, scope, given)
        case AndOr():
            return _and_or(walk, command, scope, given)
        case If():
            return _if(walk, command, scope, given)
        case Case():
            return _case(walk, command, scope, given)
        case Loop():
            return _loop(walk, command, scope, given)


def _pipeline(walk: Branching, stages: tuple[Statement, ...], scope: Scope, given: Input) -> Effect:
    walk.spawn()
    first = walk.count
    outcome = unchanged(scope)
    for stage in stages:
        outcome = walk.statement(stage, scope, given)
        makers = walk.makers_since(first)
        given = Input(text=outcome.output, makers=makers, piped=True)
    # some shells run the last stage themselves
    return outcome.within(merge(scope, outcome.either))


def _and_or(walk: Branching, both: AndOr, scope: Scope, given: Input) -> Effect:
    left = walk.statement(both.left, scope, given)
    with walk.choice():
        if both.operator == "&&":
            right = walk.statement(both.right, left.succeeded, given)
            failed = merge(right.failed, left.failed)
            return Effect(right.succeeded, failed, _append(left.output, right.output))
        right = walk.statement(both.right, left.failed, given)
    both_outputs = _append(left.output, right.output)
    numbers = number_word(several=True) if both_outputs and both_outputs.numeric else None
    return Effect(merge(left.succeeded, right.succeeded), right.failed, numbers)


def _if(walk: Branching, choice: If, scope: Scope, given: Input) -> Effect:
    condition = walk.block(choice.condition, scope, given)
    with walk.choice():
        then = walk.block(choice.then, condition.succeeded, given)
        otherwise = walk.block(choice.otherwise, condition.failed, given)
    return unchanged(merge(then.either, otherwise.either))


def _case(walk: Branching, case: Case, scope: Scope, given: Input) -> Effect:
    expansion = walk.expansion(scope)
    expansion.words(case.words)
    after = expansion.scope
    with walk.choice():
        for arm in case.arms:
            after = merge(after, walk.block(arm, after, given).either)
    return unchanged(after)


def _loop(walk: Branching, loop: Loop, scope: Scope, given: Input) -> Effect:
    head = walk.expansion(scope)
    head.evaluate(loop.arithmetic)
    scope = head.scope
    with walk.choice():
        if changes_programs(loop.name) or holds_command(loop.name):
            walk.doubt("environment", f"it sets {loop.name}, which changes what programs do")
        if loop.items is not None:
            expansion = walk.expansion(scope)
            items = expansion.words(loop.items)
            scope = expansion.scope
            known = len(items) if not any(item.splits for item in items) else None
            turns = None if any(isinstance(p, Glob) for w in items for p in w.pieces) else known
            if why := grows(loop, turns):
                walk.doubt("endless-loop", why)
            if known is not None and known <= MOST_ITEMS:
                return _for_each(walk, loop, items, scope, given)
            if any(_counts_far(run) for item in items for run in item.makers):
                walk.doubt("endless-loop", "a loop takes very many turns")
            numeric = all(item.numeric for item in items)
            each = number_word() if numeric else unknown_like(*items)
            return _repeat(walk, loop, scope.assign(loop.name, each), given)
        if loop.name:
            scope = scope.assign(loop.name, unknown_word())
        if why := objection(loop) or grows(loop, None):
            walk.doubt("endless-loop", why)
        return _repeat(walk, loop, scope, given)


def _for_each(walk: Branching, loop: Loop, items: list[Word], scope: Scope, given: Input) -> Effect:
    for item in items:
        inside = scope.assign(loop.name, item)
        scope = merge(walk.block(loop.body, inside, given).either, inside)
    return unchanged(scope)


def _repeat(walk: Branching, loop: Loop, scope: Scope, given: Input) -> Effect:
    """Once as it starts, then with all unknown that it changes, until it changes no more."""
    for _ in range(MOST_PASSES):
        after = _once(walk, loop, scope, given)
        wider = _widen(scope, after)
        if wider == scope:
            return unchanged(scope)
        scope = wider
    scope = replace(scope.forget(frozenset(scope.variables)), arguments=None)
    return unchanged(merge(_once(walk, loop, scope, given), scope))


def _counts_far(run: Run) -> bool:
    """Whether it prints more numbers than a loop may take turns over."""
    texts = [word.literal or "" for word in run.argv[1:]]
    return run.program == "seq" and any(t.isdigit() and int(t) > MOST_TURNS for t in texts)


def _widen(before: Scope, after: Scope) -> Scope:
    """What is known both before and after one turn of a loop."""
    wider = merge(before, after)
    if after.directories == before.directories:
        return wider
    return replace(wider, directories=(before.directories[0], NOWHERE))


def _once(walk: Branching, loop: Loop, scope: Scope, given: Input) -> Scope:
    condition = walk.block(loop.condition, scope, given)
    return merge(walk.block(loop.body, condition.either, given).either, condition.either)


def _append(first: Word | None, second: Word | None) -> Word | None:
    return None if first is None or second is None else join((first, second), "")
