"""What the numbers among the settings count."""

from typing import Final

UNITS: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            "database_timeout",
            "lease",
            "heartbeat",
            "ring_again",
            "poll",
            "liveness",
            "startup_patience",
            "shutdown_grace",
            "workspaces_idle",
            "model_timeout",
            "model_call_limit",
            "gateway_patience",
            "vault_timeout",
            "retry_delay",
            "subtask_timeout",
            "check_timeout",
            "approval_ttl",
        ),
        "s",
    ),
    "host_records_cap": "MB",
    "workspaces_file_cap": "MB",
    "workspaces_cap": "GB",
    "model_max_tokens": "tokens",
    "max_claims": "workers",
    "threads": "jobs",
    "planner_threads": "jobs",
    **dict.fromkeys(("daily_cost_cap", "task_cost_cap", "agent_cost_budget"), "dollars"),
    "error_threshold_per_step": "attempts",
    "max_retries_per_command": "attempts",
    "human_escalation_threshold": "revisions",
    "max_retry_count": "passes",
    "max_transient_failures": "times",
    "look_rounds": "times",
    "max_delivery_attempts": "deliveries",
    "accept_at_once": "deliveries",
    "retry_jitter": "share",
}
"""The unit of every key that is a number."""
