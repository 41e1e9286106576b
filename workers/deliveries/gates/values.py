"""What the gates are given, and what they give back."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.domain.delivery import Trust
from shared.domain.finding_words import explain_person, explain_refusal
from shared.domain.findings import Effect, Finding, trust_after
from shared.domain.target import Repository, TrustRule
from shared.domain.workspace import LeftOut
from shared.secrets.masking import Masker
from workers.deliveries.changes import NO_MODE, SYMLINK, FileChange


@dataclass(frozen=True, slots=True)
class GateLimits:
    """How large a delivery may be: bytes of a file, bytes of its patch, and its files.

    `read` are the bytes of contents that the gates are given; a person looks at what is beyond.
    They are held in memory, several times, and searched: 20 MB, which is far more than people
    change at once, take seconds.
    """

    file: int = 10_000_000
    patch: int = 50_000_000
    files: int = 3_000
    read: int = 20_000_000


USUAL: Final = GateLimits()


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """What the repository says about deliveries; see `shared.domain.target.Repository`.

    `step_checks` are those of the step that delivers: they, too, are run before it is accepted.
    """

    forbidden_paths: tuple[str, ...] = ()
    trust: tuple[TrustRule, ...] = ()
    checks: tuple[str, ...] = ()
    limits: GateLimits = USUAL
    step_checks: tuple[str, ...] = ()

    @classmethod
    def of(cls, repository: Repository, step_checks: tuple[str, ...] = ()) -> "GatePolicy":
        """The policy in the row of a repository, for a step with these checks."""
        return cls(
            repository.forbidden_paths,
            repository.trust,
            repository.checks,
            step_checks=step_checks,
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """What the author of a delivery says about it, as it came; None if it said nothing."""

    issue_id: str
    value: object


@dataclass(frozen=True, slots=True)
class GateInput:
    """A delivery, or its merge with the line of its session.

    `changes` are the differences between `base` and `tree`. `contents` holds the blobs of both
    sides by their ids: those that `oids_to_read` names, or those of them that could be had. `paths`
    are what stands beside the new paths in the tree, files and folders (`folders_to_list`), `links`
    the symbolic links of the base with their targets, if `needs_links`. `left_out` is what the tree
    does not hold of the workspace. `reverted` are paths whose new blob is an older one of the line,
    each with the commit that replaced it. `patch` is the size of the patch in bytes. `claim` is
    None for a merge: what an author says is about the delivery alone. `base_known` says that the
    base is a commit of the session's line, `from_head` that the delivery was made from the head
    that its session had when it was published. `rejected` is why somebody has rejected the
    same change before, None if nobody has. `masker` knows the secrets of the installation.
    """

    base: str
    tree: str
    changes: tuple[FileChange, ...]
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    paths: Collection[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    reverted: tuple[tuple[str, str], ...] = ()
    patch: int = 0
    claim: Claim | None = None
    base_known: bool = True
    from_head: bool = False
    rejected: str | None = None
    policy: GatePolicy = field(default_factory=GatePolicy)
    masker: Masker | None = None

    def old(self, change: FileChange) -> bytes | None:
        """The content of the path in the base; None if it has none there, or it was not read."""
        return self.contents.get(change.old_oid) if change.has_old_blob else None

    def new(self, change: FileChange) -> bytes | None:
        """The content of the path in the delivery; None as for `old`."""
        return self.contents.get(change.new_oid) if change.has_new_blob else None

    @property
    def added_links(self) -> Iterator[tuple[FileChange, str]]:
        """The symbolic links that are new or lead elsewhere, with their targets."""
        for change in self.changes:
            target = self.new(change) if change.new_mode == SYMLINK else None
            if target is not None:
                yield change, target.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class GateReport:
    """What the gates found, what refuses it first."""

    findings: tuple[Finding, ...] = ()

    @property
    def refusals(self) -> tuple[Finding, ...]:
        """What keeps the delivery from being published or accepted."""
        return tuple(each for each in self.findings if each.effect is Effect.REFUSE)

    @property
    def trust(self) -> Trust:
        """Who may accept the delivery."""
        return trust_after(self.findings)

    @property
    def reason(self) -> str:
        """Why the delivery is refused, in words; empty if it is not."""
        return explain_refusal(self.findings)

    @property
    def why(self) -> str:
        """What a person who is to allow it should look at, in words; empty if none is needed."""
        return explain_person(self.findings)


def oids_to_read(changes: Collection[FileChange], limits: GateLimits = USUAL) -> tuple[str, ...]:
    """The blobs whose content the gates need, each once; none that is too large anyway.

    They are no more than may be read, of small files first: of each file, both sides or none, as
    text that was there before is not new.
    """
    chosen: dict[str, int] = {}
    left = limits.read
    for change in sorted(changes, key=lambda each: (each.size + each.old_size, each.path)):
        sides = {
            oid: size
            for oid, size, has in (
                (change.old_oid, change.old_size, change.has_old_blob),
                (change.new_oid, change.size, change.has_new_blob),
            )
            if has and size <= limits.file and oid not in chosen
        }
        if sum(sides.values()) <= left:
            chosen |= sides
            left -= sum(sides.values())
    return tuple(chosen)


def folders_to_list(changes: Collection[FileChange]) -> tuple[str, ...]:
    """The folders whose entries the gates need, from the root, which is empty, on down."""
    added = (change.path.split("/")[:-1] for change in changes if change.old_mode == NO_MODE)
    found = ("/".join(names[:count]) for names in added for count in range(len(names) + 1))
    return tuple(sorted(dict.fromkeys(found)))


def needs_links(changes: Collection[FileChange]) -> bool:
    """Whether a link may come to lead out because of the changes.

    One of the base may, too, once another link on its way is gone.
    """
    return any(SYMLINK in {change.old_mode, change.new_mode} for change in changes)
