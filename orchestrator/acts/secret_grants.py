"""What a person may do with the use of secrets: give one to a task, and say on which hosts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.secrets import require_name
from orchestrator.acts.submission import Submission
from orchestrator.acts.verbs import act
from orchestrator.views.tasks import task_view
from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.plan import Plan
from shared.domain.secret import named_anywhere, reference
from shared.store import secret_grants
from shared.store.database import Database
from shared.wire import to_json


@dataclass(frozen=True, slots=True)
class GivenSecret:
    """A secret that a task may use, or one step of it."""

    name: str
    ref: RefValue
    step: int | None


@dataclass(frozen=True, slots=True)
class SecretScope:
    """The hosts on which a secret may be used, as patterns; none: on all."""

    name: str
    hosts: tuple[str, ...]


@act("secret.give")
def give(caller: Caller, name: str, ref: Ref) -> Done[GivenSecret]:
    """Let a task use a secret, or one step of it. Raises Rejected when there is no such task."""
    require_name(name, "secret.give")
    with caller.database.begin() as connection:
        view = task_view(connection, ref.of_task())
        secret_grants.give(connection, ref.task, [name], by=caller.actor.name, step=ref.step)
        audit.record(connection, caller.actor, Act("secret.give", str(ref), {"secret": name}))
    return Done(GivenSecret(name, view.ref, ref.step))


@act("secret.scope")
def scope(caller: Caller, name: str, hosts: Sequence[str], *, anywhere: bool) -> Done[SecretScope]:
    """Let a secret be used on these hosts as well, by pattern; `anywhere` takes the limit away.

    Without either, nothing changes. Raises Rejected for a name that is not valid.
    """
    require_name(name, "secret.scope")
    with caller.database.begin() as connection:
        known = secret_grants.scopes(connection).get(name, ())
        after = () if anywhere else tuple(dict.fromkeys((*known, *hosts)))
        if after != known:
            secret_grants.set_scope(connection, name, after)
            details = {"hosts": list(after)}
            audit.record(connection, caller.actor, Act("secret.scope", name, details))
    return Done(SecretScope(name, after))


def with_secrets(submission: Submission, names: Sequence[str]) -> Submission:
    """The submission with secrets given by name; its planner reads which they are."""
    for name in names:
        require_name(name, "task.submit")
    if not names:
        return submission
    written = ", ".join(map(reference, dict.fromkeys(names)))
    prompt = submission.prompt
    if submission.plan is None and prompt.strip():
        prompt = f"{prompt.rstrip()}\n\nSecrets for it: {written}"
    return replace(submission, prompt=prompt, secrets=tuple(names))


def named_secrets(submission: Submission) -> frozenset[str]:
    """The secrets that a task is given, and those that its prompt and its plan by hand name."""
    given = frozenset(submission.secrets) | named_anywhere(submission.prompt)
    return given if submission.plan is None else given | named_in_plan(submission.plan)


def named_in_plan(plan: Plan) -> frozenset[str]:
    """The secrets that any text of a plan names."""
    return named_anywhere(str(to_json(plan)))


def refuse_out_of_scope(database: Database, submission: Submission) -> None:
    """Raise Misconfigured for a secret that may not be used on one of the targets."""
    names = named_secrets(submission)
    if not names:
        return
    with database.reading() as connection:
        for target in submission.targets:
            secret_grants.require_scope(connection, target, names)
