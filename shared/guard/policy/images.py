"""Which images may be run, and names of images that are given to other images (X17)."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.words import Run

RULE = "image-name"
_ENGINES = frozenset({"docker", "podman", "nerdctl", "buildah", "skopeo"})
_SOURCE_AND_NAME = 2
_IMAGE = re.compile(r"[a-z0-9][\w.:/-]*(@sha256:[0-9a-f]{64})?")
_OFFICIAL = re.compile(r"(?:(?:docker\.io/)?library/)?([a-z0-9][a-z0-9._-]*)")


def undeclared(image: str, declared: tuple[str, ...]) -> str | None:
    """Why an image may not be run without a person, or None.

    One without a maker's name is of the engine's own library, or was built on the host. Any other
    is a stranger's program, whatever rights it is run with, unless `declared` has its name:
    patterns without tag and digest.
    """
    if not _IMAGE.fullmatch(image):
        return f"{image} is not a plain name of an image"
    name = _repository(image)
    if _OFFICIAL.fullmatch(name) or any(fnmatchcase(name, pattern) for pattern in declared):
        return None
    return f"{image} is an image of somebody whom the policy does not name (places: images)"


def image_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that gives an image the name of another one, in any registry."""
    for run in runs:
        if run.program not in _ENGINES:
            continue
        texts = [word.literal or "" for word in run.argv[1:]]
        if "tag" not in texts[:2]:
            continue
        named = [text for text in texts[texts.index("tag") + 1 :] if not text.startswith("-")]
        if len(named) == _SOURCE_AND_NAME and not _same(*named):
            told = f"what runs as {named[1]} would be {named[0]}, another image"
            yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)


def _same(source: str, name: str) -> bool:
    """Whether only a tag or a digest is another, or the registry of an image that was built here.

    Nothing becomes an official image, and nothing of one registry an image of another.
    """
    images = [_repository(image) for image in (source, name)]
    last = [image.rpartition("/")[2] for image in images]
    registries = [_registry(image) for image in images]
    return (
        last[0] == last[1]
        and ("/" in name or "/" not in source)
        and registries[0] in ("", registries[1])
    )


def _registry(image: str) -> str:
    """The host that an image comes from; empty for this host and for the engine's own registry."""
    first, slash, _ = image.partition("/")
    if not slash or first == "docker.io" or first.partition(":")[0] in ("localhost", "127.0.0.1"):
        return ""
    return first if "." in first or ":" in first else ""


def _repository(image: str) -> str:
    """The name of an image without its tag and its digest."""
    path, slash, last = image.partition("@")[0].rpartition("/")
    return f"{path}{slash}{last.partition(':')[0]}"
