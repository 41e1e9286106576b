"""Names of images that are given to other images: another program starts by that name (X17)."""

from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.words import Run

RULE = "image-name"
_ENGINES = frozenset({"docker", "podman", "nerdctl", "buildah", "skopeo"})
_SOURCE_AND_NAME = 2


def image_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that gives an image the name of another one, in any registry."""
    for run in runs:
        texts = [word.literal or "" for word in run.argv[1:]]
        if run.program not in _ENGINES or "tag" not in texts[:2]:
            continue
        named = [text for text in texts[texts.index("tag") + 1 :] if not text.startswith("-")]
        if len(named) == _SOURCE_AND_NAME and len(set(map(_name, named))) != 1:
            told = f"what runs as {named[1]} would be {named[0]}, another image"
            yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)


def _name(image: str) -> str:
    """The last name of an image, without its registry, its tag and its digest."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]
