"""Which runs feed another one, and which of them write to the file of a redirection."""

from collections.abc import Iterable

from shared.guard.words import Run


def feeding(run: Run) -> list[Run]:
    """All runs whose output ends up in a run, the nearest first."""
    found: dict[Run, None] = {}
    waiting = list(run.feeders)
    while waiting:
        each = waiting.pop(0)
        if each not in found:
            found[each] = None
            waiting += each.feeders
    return list(found)


def sources_of(run: Run, listed: Iterable[Run]) -> list[Run]:
    """All runs whose output a run writes: its writers, each with what feeds it."""
    return [each for writer in writers(run, listed) for each in (writer, *feeding(writer))]


def writers(run: Run, listed: Iterable[Run]) -> list[Run]:
    """The programs whose output a run writes: itself, or, of a redirection, those before it.

    A redirection is a run of its own, without words.
    """
    if run.argv:
        return [run]
    return [each for each in listed if each.argv and each.part and each.part in run.part]
