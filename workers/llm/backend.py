"""The planner backend that asks a model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeVar

from shared.contracts.agent_answers import offer_agents
from shared.contracts.answers import (
    AdviceAnswer,
    DetailAnswer,
    PlanAnswer,
    RefineAnswer,
    RevisionAnswer,
)
from shared.contracts.complaints import Document
from shared.contracts.look_answer import without_looks
from shared.contracts.project_answer import ProjectAnswer
from shared.contracts.schemas import schema_of
from shared.domain.acceptance import dropped_by, keep_checks, missing_checks
from shared.domain.author import Author, PlanningRole
from shared.domain.config import PLAN, Policy
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.plan import Plan, Subtask, check_subtasks
from shared.domain.question import Question, Reply
from shared.guard import Guard, load_site
from shared.guard.proofs import proof_rules
from workers.llm import prompts
from workers.llm.answer_rules import (
    Explain,
    output_of,
    refuse_copied,
    refuse_other_hosts,
    texts_of,
)
from workers.llm.calls import CallLog, FaultKind, Model, ModelQuestion, ModelReply
from workers.llm.judged import Judged, Review, faults_in, faults_of, judged, no_review, read
from workers.llm.model import LanguageModel
from workers.llm.planned_agents import planned, replanned, settle_agents
from workers.llm.planned_project import planned_project
from workers.llm.prompts import PromptTexts
from workers.llm.review import GuardFor, Reviewer, left_out
from workers.llm.schema_forms import in_words
from workers.llm.settings import LlmSettings
from workers.llm.texts import prompt_texts
from workers.planning import (
    AgentOffer,
    DetailRequest,
    Looks,
    NotAsPlanned,
    PlanRequest,
    ProjectDraft,
    ReplanRequest,
    RetryAdvice,
    ReviseRequest,
    RevisionDraft,
)
from workers.repetition import refuse_repetition

Answer = TypeVar("Answer", bound=Document)
Value = TypeVar("Value")


class ModelBackend:
    """Asks a model and accepts only valid plans.

    An answer that cannot be used (not JSON, cut off, of another form, with a cycle, for another
    host, copied from a log, with a secret in it) is sent back once, and so is one that the guard
    would stop or ask a person about, or whose checks prove nothing (`workers.llm.review`): with
    all its faults together. A second answer that cannot be used raises Rejected, as does the
    model's statement that the task cannot or must not be done. A model that refuses is not asked
    again: the next of `model_ladder` is, or Rejected is raised.
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
        self._guard_for = guard_for or (lambda _forbidden, _host: _shipped_guard())
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
        return self._ask(question, RefineAnswer, _refined)

    def plan(self, request: PlanRequest) -> Plan:
        """The main steps, without subtasks (S0.26)."""
        question = prompts.plan_question(
            self._texts,
            request,
            model=self._settings.model_of(PlanningRole.PLANNER.value),
            schema=_schema("plan-answer", request.looks, request.agents),
        )
        author = Author(PlanningRole.PLANNER, self._settings.provider.value)
        return self._ask(
            _offering(question, request.agents),
            PlanAnswer,
            lambda answer: judged(lambda: planned(answer, author, request.agents)),
        )

    def project(self, request: PlanRequest) -> ProjectDraft:
        """The analysis of a repository, and the development tasks that remain (S3.55)."""
        question = prompts.project_question(
            self._texts,
            request,
            model=self._settings.model_of(PlanningRole.PLANNER.value),
            schema=_schema("project-answer", request.looks, request.agents),
        )
        author = Author(PlanningRole.PLANNER, self._settings.provider.value)
        review = self._reviewer(request.policy, request.hosts, (), request.agents)
        return self._ask(
            _offering(question, request.agents),
            ProjectAnswer,
            lambda answer: planned_project(answer, author, request, review),
        )

    def detail(self, request: DetailRequest) -> tuple[Subtask, ...]:
        """The subtasks of a step (S0.28)."""
        question = prompts.detail_question(
            self._texts,
            request,
            model=self._settings.model_of(PlanningRole.SUBTASK_PLANNER.value),
            schema=_schema("detail-answer", request.looks, request.agents),
        )
        others = [s for step in request.plan.steps for s in step.subtasks]
        review = self._reviewer(request.policy, request.hosts, others, request.agents)
        return self._ask(
            _offering(question, request.agents),
            DetailAnswer,
            lambda answer: self._detailed(answer, request, review),
            review,
        )

    def revise(self, request: ReviseRequest) -> RevisionDraft:
        """New subtasks based on the evidence, by the model that planned the step (S0.54–S0.57)."""
        question = prompts.revise_question(
            self._texts,
            request,
            model=self._settings.model_of(request.step.author.role.value),
            schema=_schema("revision-answer", request.looks, request.agents),
        )
        host = request.host or request.bundle.target
        review = self._reviewer(request.policy, (host,), request.subtasks, request.agents)
        return self._ask(
            _offering(question, request.agents),
            RevisionAnswer,
            lambda answer: self._revised(answer, request, review),
            review,
            revision=request.bundle.revision + 1,
        )

    def replan(self, request: ReplanRequest) -> Plan:
        """New steps, without subtasks, that replace the rest of a plan."""
        question = prompts.replan_question(
            self._texts,
            request,
            model=self._settings.model_of(PlanningRole.PLANNER.value),
            schema=_schema("plan-answer", request.looks, request.agents),
        )
        author = Author(PlanningRole.PLANNER, self._settings.provider.value)
        return self._ask(
            _offering(question, request.agents),
            PlanAnswer,
            lambda answer: judged(lambda: replanned(answer, author, request)),
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
            question,
            AdviceAnswer,
            lambda a: Judged(RetryAdvice(a.retry, a.delay_seconds, a.reason)),
        )

    def _ask(
        self,
        question: ModelQuestion,
        kind: type[Answer],
        judge: Callable[[Answer], Judged[Value]],
        review: Review = no_review,
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
                return self._ask_model(replace(question, model=model), kind, judge, review)
            except _RefusedError:
                continue
        return self._ask_model(replace(question, model=last), kind, judge, review)

    def _ask_model(
        self,
        question: ModelQuestion,
        kind: type[Answer],
        judge: Callable[[Answer], Judged[Value]],
        review: Review,
    ) -> Value:
        """The value of the answer, or of the second one, if the first has faults.

        A second answer that keeps faults which the pass itself deals with is used as it is. The
        first one is used if it had only such faults and there is no second one that can be used.
        """
        first = self._model.ask(question)
        answer = self._read(first, question, kind, judge, review)
        if answer.faults:
            repair = prompts.complaint(self._texts, answer.complaint, answer.form)
            again = question.again(first.text, repair)
            answer = self._ask_again(again, kind, judge, review, answer)
        if answer.value is None or not answer.usable:
            raise Rejected(
                f"the model gave two answers that cannot be used; the second: {answer.reason}",
                stage=question.purpose,
                next_step=question.next_step,
            )
        return answer.value

    def _ask_again(
        self,
        question: ModelQuestion,
        kind: type[Answer],
        judge: Callable[[Answer], Judged[Value]],
        review: Review,
        first: Judged[Value],
    ) -> Judged[Value]:
        """The better one of two answers, the first of which is paid for already."""
        try:
            reply = self._model.ask(question)
            second = self._read(reply, question, kind, judge, review)
        except (Rejected, Misconfigured) as error:  # a spending cap, for instance
            if first.usable and not isinstance(error, NotAsPlanned):
                return first
            raise
        return second.or_else(first)

    def _read(
        self,
        reply: ModelReply,
        question: ModelQuestion,
        kind: type[Answer],
        judge: Callable[[Answer], Judged[Value]],
        review: Review,
    ) -> Judged[Value]:
        """The answer, judged; one that has faults is recorded as such."""
        if reply.fault is not None and reply.fault.kind is FaultKind.REFUSED:
            raise _RefusedError(
                reply.fault.reason, stage=question.purpose, next_step=question.next_step
            )
        answer = read(reply, question, kind, judge, review)
        if answer.faults and reply.fault is None:
            self._model.refuse(reply, answer.reason)
        return answer

    def _detailed(
        self, answer: DetailAnswer, request: DetailRequest, review: Review
    ) -> Judged[tuple[Subtask, ...]]:
        listed = answer.listed()
        subtasks, unfit = settle_agents(listed, request.agents, before=request.before)
        wanted = f"{request.prompt}\n{request.step.instruction}"
        found = (step.found for step in request.done)
        seen = _printed(request.looks)
        shown = (request.facts, *found, request.evidence, *seen)
        said = (request.prompt, *_answers(request.replies))
        faults = [*faults_of(lambda: check_subtasks(subtasks))]
        for host in request.hosts or ("",):
            explain = self._explain_at(request.policy, host)
            faults += faults_in(subtasks, partial(_other_hosts, wanted, explain))
            faults += faults_in(subtasks, partial(_copied, shown, said, explain))
        return Judged(subtasks, (*dict.fromkeys(faults), *unfit, *review(listed)))

    def _revised(
        self, answer: RevisionAnswer, request: ReviseRequest, review: Review
    ) -> Judged[RevisionDraft]:
        listed, bundle, rollback = answer.listed(), request.bundle, tuple(answer.rollback)
        subtasks, unfit = settle_agents(listed, request.agents, before=request.before)
        explain = self._explain_at(request.policy, request.host or bundle.target)
        wanted = (bundle.prompt, bundle.improved_prompt or "", bundle.step_instruction)
        shown = (*output_of(bundle), *request.past_fixes, *_printed(request.looks))
        said = (*texts_of(request.subtasks), bundle.prompt, *_answers(request.replies))
        named = "\n".join((*wanted, request.note))
        faults = (
            *faults_of(lambda: check_subtasks(subtasks)),
            *faults_of(lambda: refuse_repetition(subtasks, rollback, request.earlier)),
            *faults_in(subtasks, partial(_other_hosts, named, explain)),
            *faults_in(subtasks, partial(_copied, shown, said, explain)),
        )
        dropped = dropped_by(answer.dropped(), request.acceptance, subtasks)
        given_up = {each.check for each in dropped}
        missing = [
            check for check in missing_checks(request.acceptance, subtasks) if check not in given_up
        ]
        draft = RevisionDraft(keep_checks(subtasks, missing), answer.diagnosis, rollback, dropped)
        return Judged(draft, (*faults, *unfit, *review(listed), *map(left_out, missing)))

    def _reviewer(
        self, policy: Policy, hosts: Sequence[str], others: Sequence[Subtask], agents: AgentOffer
    ) -> Review:
        return Reviewer(
            self._guard_for,
            proof_rules(),
            hosts,
            policy.forbidden_commands,
            others,
            asks_anyway=policy.autonomy == PLAN,
            agents=bool(agents.runners),
        ).faults

    def _explain_at(self, policy: Policy, host: str) -> Explain:
        return self._guard_for(policy.forbidden_commands, host).explain


def _other_hosts(wanted: str, explain: Explain, subtasks: Sequence[Subtask]) -> None:
    refuse_other_hosts(subtasks, wanted, explain)


def _copied(
    shown: Sequence[str], said: Sequence[str], explain: Explain, subtasks: Sequence[Subtask]
) -> None:
    refuse_copied(subtasks, shown, said, explain)


def _answers(replies: tuple[Reply, ...]) -> tuple[str, ...]:
    """The words of the person alone: a question may hold text of a host."""
    return tuple(reply.answer for reply in replies)


def _printed(looks: Looks) -> tuple[str, ...]:
    """Everything that looks have printed on hosts."""
    return tuple(output for look in looks.seen for output in (look.stdout, look.stderr))


class _RefusedError(Rejected):
    """The model refuses; asking it the same again does not help."""


def _schema(name: str, looks: Looks, agents: AgentOffer) -> dict[str, Any]:
    """The form of an answer; a planner that may not look hears nothing of looks."""
    form = offer_agents(schema_of(name), repositories=agents.names, runners=agents.runners)
    return form if looks.allowed else without_looks(form)


def _offering(question: ModelQuestion, agents: AgentOffer) -> ModelQuestion:
    """The question with the names that its answer may use, for whoever asks it again."""
    return replace(question, repositories=agents.names, runners=agents.runners)


def _refined(answer: RefineAnswer) -> Judged[str | Question]:
    return Judged(answer.question or answer.prompt)


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
