"""Checking a repository through a worker process: the orchestrator runs no git."""

import json

from orchestrator.probes.hosts import PATIENCE
from orchestrator.probes.worker import WorkerCall, ask_worker
from shared.domain.host import Host
from shared.domain.target import Repository, RepositoryReport
from shared.wire import from_json, to_json


def check(host: Host, repository: Repository) -> RepositoryReport:
    """Check a repository on its host. Raises Transient, and Misconfigured if the host refuses."""
    asked = WorkerCall(("repo-check",), host.name, "connect", PATIENCE)
    given = {"host": to_json(host), "repository": to_json(repository)}
    return from_json(RepositoryReport, ask_worker(asked, json.dumps(given))["report"])
