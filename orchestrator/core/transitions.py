"""The law: which facts may come in which phase, and which phases may follow.

A fact with no entry is either overtaken (a duplicate or a straggler, recognised by its numbers) or
a defect. The rules in `step_rules` and `task_rules` compute; `advance` holds them to this table,
and the state diagrams are drawn from it.
"""

from collections.abc import Mapping

from shared.domain import facts as f
from shared.domain.task import StepPhase as S
from shared.domain.task import TaskPhase as T

_BEGINS = frozenset({S.READY, S.DETAILING})
"""Where a step goes whose turn has come: a bare one is detailed first."""

_BACK = frozenset({S.READY, S.REPLANNING, S.ERROR})
"""Where a step goes whose delivery is rejected: to its author, to its planner, or nowhere."""

_LINE = frozenset({S.ACCEPTING, S.ACCEPTED, S.WAITING}) | _BACK
"""Where a step goes whose delivery is judged or reviewed."""

STEP_TRANSITIONS: Mapping[S, Mapping[type, frozenset[S]]] = {
    S.NOT_STARTED: {
        f.RunStarted: _BEGINS | {S.NOT_STARTED},
        f.PassFinished: _BEGINS | {S.SKIPPED},
        f.StepRevised: _BEGINS | {S.NOT_STARTED},
        f.StepAbandoned: _BEGINS | {S.SKIPPED},
        f.RevisionRequested: _BEGINS,
        f.ResumeRequested: _BEGINS,
        f.CommandsApproved: _BEGINS,
        f.ApprovalDenied: _BEGINS,
        f.RetryAdvised: _BEGINS,
        f.PlanRevised: _BEGINS | {S.NOT_STARTED, S.REPLACED},
        f.StepsReplaced: _BEGINS | {S.NOT_STARTED, S.REPLACED},
        f.QuestionAnswered: _BEGINS | {S.NOT_STARTED, S.REPLACED},
        f.DeliveryJudged: _BEGINS,
        f.DeliveryReviewed: _BEGINS,
        f.DeliveryAllowed: _BEGINS,
        f.DeliveryRejected: _BEGINS,
        f.CancelRequested: frozenset({S.CANCELLED}),
    },
    S.DETAILING: {
        f.StepsReplaced: frozenset({S.REPLACED}),
        f.StepDetailed: frozenset({S.READY, S.NOT_STARTED, S.SKIPPED}),
        f.LooksRequested: frozenset({S.DETAILING}),
        f.LooksTaken: frozenset({S.DETAILING}),
        f.JobFailed: frozenset({S.DETAILING, S.WAITING}),
        f.WorkerLost: frozenset({S.DETAILING}),
        f.StepRevised: frozenset({S.READY}),
        f.PlanRevised: frozenset({S.REPLACED}),
        f.QuestionAnswered: frozenset({S.REPLACED}),
        f.CancelRequested: frozenset({S.CANCELLED}),
    },
    S.READY: {
        f.PassStarted: frozenset({S.RUNNING}),
        f.PassFinished: frozenset(
            {
                *{S.DONE, S.ACCEPTING, S.READY, S.REPLANNING, S.WAITING},
                *{S.BLOCKED, S.ERROR, S.CANCELLED},
            }
        ),
        f.JobFailed: frozenset({S.READY, S.WAITING}),
        f.RevisionRequested: frozenset({S.REPLANNING}),
        f.StepRevised: frozenset({S.READY}),
        f.AttemptCancelRequested: frozenset({S.READY}),
        f.WorkerLost: frozenset({S.READY}),
        f.CancelRequested: frozenset({S.CANCELLED}),
    },
    S.RUNNING: {
        f.PassFinished: frozenset(
            {
                *{S.DONE, S.ACCEPTING, S.READY, S.REPLANNING, S.WAITING},
                *{S.BLOCKED, S.ERROR, S.CANCELLED},
            }
        ),
        f.JobFailed: frozenset({S.READY, S.WAITING}),
        f.RevisionRequested: frozenset({S.REPLANNING}),
        f.StepRevised: frozenset({S.READY}),
        f.AttemptCancelRequested: frozenset({S.RUNNING}),
        f.WorkerLost: frozenset({S.RUNNING}),
        f.CancelRequested: frozenset({S.CANCELLED}),
    },
    S.REPLANNING: {
        f.BundleReady: frozenset({S.REPLANNING, S.WAITING}),
        f.StepRevised: frozenset({S.READY}),
        f.RetryAdvised: frozenset({S.READY, S.WAITING, S.ERROR}),
        f.StepHandedUp: frozenset({S.REPLANNING, S.WAITING}),
        f.PlanRevised: frozenset({S.REPLANNING, S.WAITING, S.REPLACED}),
        f.JobFailed: frozenset({S.REPLANNING, S.READY, S.WAITING}),
        f.RevisionRequested: frozenset({S.REPLANNING}),
        f.LooksRequested: frozenset({S.REPLANNING}),
        f.LooksTaken: frozenset({S.REPLANNING}),
        f.WorkerLost: frozenset({S.REPLANNING}),
        f.CancelRequested: frozenset({S.CANCELLED}),
    },
    S.WAITING: {
        f.StepsReplaced: frozenset({S.REPLACED}),
        f.StepAbandoned: frozenset({S.ERROR}),
        f.StepRevised: frozenset({S.READY}),
        f.RevisionRequested: frozenset({S.REPLANNING}),
        f.BundleSent: frozenset({S.REPLANNING, S.WAITING}),
        f.PlanRevised: frozenset({S.REPLACED}),
        f.ResumeRequested: _BEGINS | {S.ACCEPTING},
        f.OutcomeTold: frozenset({S.READY}),
        f.RecordsSettled: frozenset({S.READY}),
        f.SpendingAllowed: frozenset({S.READY}),
        f.CommandsApproved: frozenset({S.READY}),
        f.ApprovalDenied: frozenset({S.REPLANNING}),
        f.QuestionAnswered: frozenset({S.READY, S.WAITING, S.REPLANNING, S.REPLACED}),
        f.DeliveryAllowed: frozenset({S.ACCEPTING, S.ACCEPTED}),
        f.DeliveryRejected: _BACK,
        f.CancelRequested: frozenset({S.CANCELLED}),
    },
    S.BLOCKED: {
        f.StepsReplaced: frozenset({S.REPLACED}),
        f.StepAbandoned: frozenset({S.ERROR}),
        f.StepRevised: frozenset({S.READY}),
        f.RevisionRequested: frozenset({S.REPLANNING}),
        f.ResumeRequested: frozenset({S.READY}),
        f.CancelRequested: frozenset({S.CANCELLED}),
    },
    S.ERROR: {
        f.StepsReplaced: frozenset({S.REPLACED}),
        f.StepRevised: frozenset({S.READY}),
        f.ResumeRequested: _BEGINS,
    },
    S.SKIPPED: {
        f.StepsReplaced: frozenset({S.REPLACED}),
        f.ResumeRequested: _BEGINS | {S.NOT_STARTED, S.SKIPPED},
        f.StepRevised: frozenset({S.NOT_STARTED, S.READY, S.SKIPPED}),
        f.PlanRevised: frozenset({S.REPLACED}),
        f.QuestionAnswered: frozenset({S.REPLACED}),
    },
    S.ACCEPTING: {
        f.DeliveryJudged: _LINE,
        f.DeliveryReviewed: _LINE,
        f.JobFailed: frozenset({S.ACCEPTING, S.WAITING}),
        f.RevisionRequested: frozenset({S.REPLANNING}),
        f.StepRevised: frozenset({S.READY}),
        f.WorkerLost: frozenset({S.ACCEPTING}),
        f.CancelRequested: frozenset({S.CANCELLED}),
    },
    S.ACCEPTED: {
        f.CheckpointFinished: frozenset({S.DONE}),
        f.CancelRequested: frozenset({S.CANCELLED}),
    },
    S.DONE: {},
    S.CANCELLED: {
        f.CommandLeftRunning: frozenset({S.CANCELLED}),
        f.CleanupFinished: frozenset({S.CANCELLED}),
        f.JobFailed: frozenset({S.CANCELLED}),
        f.WorkerLost: frozenset({S.CANCELLED}),
    },
    S.REPLACED: {},
}

MOVES_NO_STEP = frozenset({f.PolicyChanged, f.CheckpointRequested, f.SessionClosed, f.RunPaused})
"""The facts about a run that stand in no phase of a step: what they change shows later."""

TASK_TRANSITIONS: Mapping[T, Mapping[type, frozenset[T]]] = {
    T.SUBMITTED: {
        f.TaskSubmitted: frozenset({T.REFINING, T.PLANNING, T.DETAILING, T.RUNNING, T.WAITING}),
        f.CancelRequested: frozenset({T.CANCELLED}),
    },
    T.REFINING: {
        f.PromptRefined: frozenset({T.PLANNING, T.WAITING}),
        f.QuestionAsked: frozenset({T.WAITING}),
        f.PolicyChanged: frozenset({T.REFINING}),
        f.RunChanged: frozenset({T.REFINING, T.CANCELLED}),
        f.JobFailed: frozenset({T.REFINING, T.PLANNING, T.WAITING}),
        f.WorkerLost: frozenset({T.REFINING}),
        f.CancelRequested: frozenset({T.CANCELLED}),
        f.HostKeyChanged: frozenset({T.REFINING}),
    },
    T.PLANNING: {
        f.PolicyChanged: frozenset({T.PLANNING}),
        f.PlanDrafted: frozenset({T.DETAILING, T.RUNNING, T.WAITING}),
        f.JobFailed: frozenset({T.PLANNING, T.WAITING}),
        f.RunChanged: frozenset({T.PLANNING, T.CANCELLED}),
        f.LooksRequested: frozenset({T.PLANNING}),
        f.LooksTaken: frozenset({T.PLANNING}),
        f.WorkerLost: frozenset({T.PLANNING}),
        f.CancelRequested: frozenset({T.CANCELLED}),
        f.HostKeyChanged: frozenset({T.PLANNING}),
    },
    T.DETAILING: {
        f.PolicyChanged: frozenset({T.DETAILING}),
        f.StepDetailed: frozenset({T.DETAILING, T.RUNNING, T.WAITING}),
        f.JobFailed: frozenset({T.DETAILING, T.WAITING}),
        f.RunChanged: frozenset({T.DETAILING, T.CANCELLED}),
        f.LooksRequested: frozenset({T.DETAILING}),
        f.LooksTaken: frozenset({T.DETAILING}),
        f.WorkerLost: frozenset({T.DETAILING}),
        f.CancelRequested: frozenset({T.CANCELLED}),
        f.HostKeyChanged: frozenset({T.DETAILING}),
    },
    T.RUNNING: {
        f.PolicyChanged: frozenset({T.RUNNING}),
        f.RunChanged: frozenset({T.RUNNING, T.WAITING, T.DONE, T.ERROR, T.CANCELLED}),
        f.CancelRequested: frozenset({T.RUNNING}),
        f.ResumeRequested: frozenset({T.RUNNING}),
        f.HostKeyChanged: frozenset({T.RUNNING}),
    },
    T.WAITING: {
        f.PolicyChanged: frozenset({T.WAITING}),
        f.QuestionAnswered: frozenset({T.REFINING, T.DETAILING, T.RUNNING, T.WAITING}),
        f.PlanDrafted: frozenset({T.DETAILING, T.RUNNING, T.WAITING}),
        f.StepDetailed: frozenset({T.WAITING, T.DETAILING, T.RUNNING}),
        f.PlanApproved: frozenset({T.RUNNING}),
        f.ResumeRequested: frozenset({T.REFINING, T.PLANNING, T.DETAILING, T.WAITING}),
        f.RunChanged: frozenset({T.RUNNING, T.WAITING, T.DONE, T.ERROR, T.CANCELLED}),
        f.CancelRequested: frozenset({T.CANCELLED, T.WAITING}),
        f.HostKeyChanged: frozenset({T.WAITING}),
    },
    T.ERROR: {
        f.PolicyChanged: frozenset({T.ERROR}),
        f.ResumeRequested: frozenset({T.RUNNING}),
        f.RunChanged: frozenset({T.RUNNING}),
        f.HostKeyChanged: frozenset({T.ERROR}),
    },
    T.DONE: {f.HostKeyChanged: frozenset({T.DONE})},
    T.CANCELLED: {f.HostKeyChanged: frozenset({T.CANCELLED})},
}
