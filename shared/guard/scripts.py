"""Shell programs that come from files or from standard input."""


from shared.guard.files import File
from shared.guard.flow import Input, Outcome, unchanged
from shared.guard.follower import Follower
from shared.guard.scope import Scope
from shared.guard.words import Hole, Run, Word


def program_from_input(
    walk: Follower, interpreter: str, scope: Scope, given: Input
) -> Outcome:
    """A shell reads its program from standard input."""
    if given.text is not None:
        return walk.code(given.text, interpreter, scope, Input(piped=True))
    if given.file is not None:
        return script_file(walk, given.file, interpreter, scope, Input(piped=True))
    walk.doubt("program-from-input", "a shell runs what it reads, which is not known")
    return unchanged(scope)


def script_file(
    walk: Follower, path: Word, interpreter: str, scope: Scope, given: Input
) -> Outcome:
    """A shell runs a file; one that was on the host before is taken as the operator's."""
    contents = [p.content for p in path.pieces if isinstance(p, Hole) and p.content is not None]
    if contents and len(path.pieces) == 1:
        return walk.code(contents[0], interpreter, scope, given)
    if path.unknown:
        walk.doubt("unknown-script", f"which script runs is not known: {path}")
        return unchanged(scope)
    outcome = unchanged(scope)
    for file in walk.files.at(path, scope.directories[0]):
        if file.copy_of is not None:
            outcome = script_file(walk, file.copy_of, interpreter, scope, given)
        else:
            outcome = script_text(walk, file, interpreter, scope, given)
    return outcome


def script_text(
    walk: Follower, file: File, interpreter: str, scope: Scope, given: Input
) -> Outcome:
    """Run what a file holds that the text itself has written."""
    if file.content.literal is None:
        walk.doubt("written-script", "it runs a file that it has written, of unknown content")
    return walk.code(file.content, interpreter, scope, given)
