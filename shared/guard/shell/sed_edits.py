"""The scripts by which sed changes files in place."""

import re

from shared.guard.programs.inline_code import option_values
from shared.guard.shell.written_files import operands
from shared.guard.words import Run

_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")


def edit_scripts(run: Run) -> list[str]:
    """The scripts of a run that edits files in place, in their order; none for every other run."""
    words = run.argv[1:]
    if run.program != "sed" or not any(map(_IN_PLACE.match, map(str, words))):
        return []
    scripts = [*option_values(words, "e", ("expression",))] or list(operands(words))[:1]
    return list(map(str, scripts))
