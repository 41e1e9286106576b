"""The planner backend that asks a model."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from pydantic import ValidationError

from shared.contracts.answers import (
    AdviceAnswer,
    DetailAnswer,
    PlanAnswer,
    RefineAnswer,
    RevisionAnswer,
)
from shared.contracts.complaints import Document, describe
from shared.contracts.look_answer import looks_in, without_looks
from shared.contracts.schemas import schema_of
from shared.domain.errors import Rejected
from shared.domain.plan import Author, Plan, PlanningRole, Subtask
from shared.domain.question import Question, Reply
from shared.guard import Guard, load_site
from workers.llm import prompts
from workers.llm.answer_rules import (
    Explain,
    output_of,
    refuse_copied,
    refuse_other_hosts,
    texts_of,
)
from workers.llm.calls import CallLog, FaultKind, Model, ModelQuestion, ModelReply
from workers.llm.model import LanguageModel
from workers.llm.parsing import NotAnAnswer, object_in
from workers.llm.prompts import NO_MORE_LOOKS, PromptTexts
from workers.llm.schema_forms import Schema, in_words, without_nulls
from workers.llm.settings import LlmSettings
from workers.llm.texts import prompt_texts
from workers.planning import (
    DetailRequest,
    Looks,
    LooksFirst,
    NotAsPlanned,
    PlanRequest,
    ReplanRequest,
    RetryAdvice,
    ReviseRequest,
    RevisionDraft,
)
from workers.repetition import refuse_repetition

GuardFor = Callable[[str], Guard]
"""Returns the guard of the host with that name, or a general guard for an empty name."""

Answer = TypeVar("Answer", bound=Document)
Value = TypeVar("Value")


class ModelBackend:
    """Asks a model and accepts only valid plans.

    An answer that cannot be used (not JSON, cut off, of another form, with a cycle, for another
    host, copied from a log) is sent back once with a description of the fault. A second such answer
    raises Rejected, as does the model's statement that the task cannot or must not be done. A model
    that refuses is not asked again: the next of `model_ladder` is, or Rejected is raised.
    """

    uses_facts = True

    def __init__(
        self,
        model: Model,
        settings: LlmSettings | None = None,
        *,
        texts: PromptTexts | None = None,
        guard_for: GuardFor | None = None,
    ) -> None:
        self._model = model
        self._guard_for = guard_for or (lambda _: _shipped_guard())
        self._settings = settings or LlmSettings()
        self._texts = texts or prompt_texts()

    def refine(self, request: PlanRequest) -> str | Question:
        """The improved prompt (S0.2), or a question that only the person can answer (S3.57)."""
        question = prompts.refine_question(
            self._texts,
            request,
            model=self._settings.model_of(prompts.TASKMASTER),
            schema=schema_of("refine-answer"),
        )
        return self._ask(question, RefineAnswer, lambda answer: answer.question or answer.prompt)

    def plan(self, request: PlanRequest) -> Plan:
        """The main steps, without subtasks (S0.26)."""
        question = prompts.plan_question(
            self._texts,
            request,
            model=self._settings.model_of(PlanningRole.PLANNER.value),
            schema=_schema("plan-answer", request.looks),
        )
        author = Author(PlanningRole.PLANNER, self._settings.provider.value)
        return self._ask(question, PlanAnswer, lambda answer: answer.plan(author))

    def detail(self, request: DetailRequest) -> tuple[Subtask, ...]:
        """The subtasks of a step (S0.28)."""
        question = prompts.detail_question(
            self._texts,
            request,
            model=self._settings.model_of(PlanningRole.SUBTASK_PLANNER.value),
            schema=_schema("detail-answer", request.looks),
        )
        return self._ask(
            question, DetailAnswer, lambda answer: self._checked_subtasks(answer, request)
        )

    def revise(self, request: ReviseRequest) -> RevisionDraft:
        """New subtasks based on the evidence, by the model that planned the step (S0.54–S0.57)."""
        question = prompts.revise_question(
            self._texts,
            request,
            model=self._settings.model_of(request.step.author.role.value),
            schema=_schema("revision-answer", request.looks),
        )
        return self._ask(
            question,
            RevisionAnswer,
            lambda answer: self._revision_draft(answer, request),
            revision=request.bundle.revision + 1,
        )

    def replan(self, request: ReplanRequest) -> Plan:
        """New steps, without subtasks, that replace the rest of a plan."""
        question = prompts.replan_question(
            self._texts,
            request,
            model=self._settings.model_of(PlanningRole.PLANNER.value),
            schema=_schema("plan-answer", request.looks),
        )
        author = Author(PlanningRole.PLANNER, self._settings.provider.value)
        return self._ask(
            question,
            PlanAnswer,
            lambda answer: answer.plan(author),
            revision=request.bundle.revision + 1,
        )

    def advise(self, request: ReviseRequest) -> RetryAdvice:
        """Whether to try the same subtasks again (S1.35)."""
        question = prompts.advise_question(
            self._texts,
            request,
            model=self._settings.model_of(PlanningRole.SUBTASK_PLANNER.value),
            schema=schema_of("advice-answer"),
        )
        return self._ask(
            question, AdviceAnswer, lambda a: RetryAdvice(a.retry, a.delay_seconds, a.reason)
        )

    def _ask(
        self,
        question: ModelQuestion,
        kind: type[Answer],
        value: Callable[[Answer], Value],
        *,
        revision: int = 0,
    ) -> Value:
        """The value of the answer; a model that refuses is followed by the next of the ladder."""
        question = replace(question, effort=self._settings.effort_of(question.role))
        if self._settings.schema_in_prompt:
            question = replace(question, system=(*question.system, in_words(question.schema)))
        *first, last = self._settings.models_for(question.role, revision)
        for model in first:
            try:
                return self._ask_model(replace(question, model=model), kind, value)
            except _RefusedError:
                continue
        return self._ask_model(replace(question, model=last), kind, value)

    def _ask_model(
        self, question: ModelQuestion, kind: type[Answer], value: Callable[[Answer], Value]
    ) -> Value:
        first = self._model.ask(question)
        try:
            return self._read(first, question, kind, value)
        except _Unusable as error:
            repair = prompts.complaint(self._texts, error.complaint, error.form)
        second = self._model.ask(question.again(first.text, repair))
        try:
            return self._read(second, question, kind, value)
        except _Unusable as error:
            raise Rejected(
                f"the model gave two answers that cannot be used; the second: {error}",
                stage=question.purpose,
                next_step=question.next_step,
            ) from error

    def _read(
        self,
        reply: ModelReply,
        question: ModelQuestion,
        kind: type[Answer],
        value: Callable[[Answer], Value],
    ) -> Value:
        """The value of an answer; one that cannot be used is recorded as such."""
        if reply.fault is not None and reply.fault.kind is FaultKind.REFUSED:
            raise _RefusedError(
                reply.fault.reason, stage=question.purpose, next_step=question.next_step
            )
        try:
            return _read(reply, question, kind, value)
        except _Unusable as error:
            if reply.fault is None:
                self._model.refuse(reply, str(error))
            raise

    def _checked_subtasks(
        self, answer: DetailAnswer, request: DetailRequest
    ) -> tuple[Subtask, ...]:
        subtasks = answer.to_subtasks()
        wanted = f"{request.prompt}\n{request.step.instruction}"
        explain = self._explain_at("")
        refuse_other_hosts(subtasks, wanted, explain)
        found = (step.found for step in request.done)
        seen = _printed(request.looks)
        read = (request.facts, *request.past_fixes, *found, request.evidence, *seen)
        refuse_copied(subtasks, read, (request.prompt, *_answers(request.replies)), explain)
        return subtasks

    def _revision_draft(self, answer: RevisionAnswer, request: ReviseRequest) -> RevisionDraft:
        subtasks, bundle = answer.to_subtasks(), request.bundle
        rollback = tuple(answer.rollback)
        refuse_repetition(subtasks, rollback, request.earlier)
        explain = self._explain_at(bundle.target)
        wanted = f"{bundle.prompt}\n{bundle.improved_prompt}\n{bundle.step_instruction}"
        refuse_other_hosts(subtasks, f"{wanted}\n{request.note}", explain)
        read = (*output_of(bundle), *request.past_fixes, *_printed(request.looks))
        said = (*texts_of(request.subtasks), bundle.prompt, *_answers(request.replies))
        refuse_copied(subtasks, read, said, explain)
        return RevisionDraft(subtasks, answer.diagnosis, rollback)

    def _explain_at(self, host: str) -> Explain:
        guard = self._guard_for(host)
        return guard.explain


def _answers(replies: tuple[Reply, ...]) -> tuple[str, ...]:
    """The words of the person alone: a question may hold text of a host."""
    return tuple(reply.answer for reply in replies)


def _printed(looks: Looks) -> tuple[str, ...]:
    """Everything that looks have printed on hosts."""
    return tuple(output for look in looks.seen for output in (look.stdout, look.stderr))


class _Unusable(Exception):
    """The answer cannot be used: why in words for a person, and in `complaint` for the model.

    `form` is the schema of the answer, for a model that may never have heard of it.
    """

    def __init__(self, reason: str, form: Schema | None = None, *, complaint: str = "") -> None:
        super().__init__(reason)
        self.form = form
        self.complaint = complaint or reason


class _RefusedError(Rejected):
    """The model refuses; asking it the same again does not help."""


def _schema(name: str, looks: Looks) -> dict[str, Any]:
    """The form of an answer; a planner that may not look hears nothing of looks."""
    return schema_of(name) if looks.allowed else without_looks(schema_of(name))


def _read(
    reply: ModelReply, question: ModelQuestion, kind: type[Answer], value: Callable[[Answer], Value]
) -> Value:
    if reply.fault is not None:
        raise _Unusable(reply.fault.reason, complaint=reply.fault.complaint)
    try:
        found = without_nulls(object_in(reply.text))
        if wanted := looks_in(found):
            raise LooksFirst(wanted) if question.looks_left else _Unusable(NO_MORE_LOOKS)
        answer = kind.model_validate(found)
    except NotAnAnswer as error:
        raise _Unusable(str(error), question.schema) from error
    except ValidationError as error:
        raise _Unusable(describe(error), question.schema) from error
    why_not = getattr(answer, "impossible", "").strip()
    if why_not:
        raise NotAsPlanned(
            f"the model says that this cannot be done: {why_not}",
            stage=question.purpose,
            next_step=question.next_step,
        )
    try:
        return value(answer)
    except Rejected as error:
        raise _Unusable(error.reason) from error


@cache
def _shipped_guard() -> Guard:
    return Guard(load_site(None).for_host())


def model_backend(
    settings: LlmSettings,
    *,
    log: CallLog | None = None,
    mask: Callable[[str], str] = str,
    guard_for: GuardFor | None = None,
) -> ModelBackend:
    """A backend on a provider; the first question imports its library and opens the connection.

    Every question goes through `mask` first, and every call is recorded in `log`.
    """
    model = LanguageModel(settings, log=log, mask=mask)
    return ModelBackend(model, settings, guard_for=guard_for)
