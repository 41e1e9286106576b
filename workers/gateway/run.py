"""Starts the gateway as it is ordered: the only place that chooses its parts."""

import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import structlog

from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.health import Pulse
from shared.logs import configure_logs
from shared.secrets.installation import own_secrets
from shared.secrets.masking import Masker
from shared.secrets.vaults.opening import open_vaults
from shared.settings import ServerSettings
from shared.settings.server import GatewayKeeps
from shared.startup import await_servers
from shared.store.database import Database
from workers.call_ledger import CallLedger
from workers.gateway.accounts import NoAccounts
from workers.gateway.app import Gateway
from workers.gateway.ledger import LedgerAccounts
from workers.gateway.patience import Patience
from workers.gateway.providers import HttpUpstream, providers_of
from workers.gateway.recording import RecordingUpstream, ReplayedUpstream
from workers.gateway.script import read_script
from workers.gateway.scripted import ScriptedUpstream
from workers.gateway.serving import Listening, is_loopback, serve
from workers.gateway.upstream import Upstream
from workers.installation_key import installation_key
from workers.llm.prices import Prices
from workers.secrets import Secrecy

log = structlog.get_logger()

_SWITCH: Final = 0.0005
"""Seconds for which a thread may keep the others waiting; Python's own are five thousandths."""

_THREADS: Final = 8
"""Requests that may wait for the database at the same time, each with a connection."""


@dataclass(frozen=True, slots=True)
class GatewayOrder:
    """How the gateway is to run, as its command line says it."""

    listen: str | None = None
    script: Path | None = None
    replay: Path | None = None
    record: Path | None = None
    standalone: bool = False


def run_gateway(server: ServerSettings, order: GatewayOrder, environ: Mapping[str, str]) -> None:
    """Serve until SIGTERM or SIGINT; prints its address once it listens.

    Raises Rejected or Misconfigured where that cannot be done.
    """
    where = _place(server, order)
    _require_free_of_cost(order)
    keys = Masker(own_secrets(server))
    upstream = _upstream(server, order, keys)
    if order.standalone:
        _run(Gateway(upstream, NoAccounts(), masker=lambda: keys, keys=keys), where, server)
        return
    secrecy = Secrecy(open_vaults(server, environ), own_secrets(server))
    configure_logs(server.log_level, mask=secrecy.text)
    database = Database.of(server, pool_size=_THREADS)
    try:
        await_servers(server, database, threading.Event())
        gateway = Gateway(
            upstream,
            LedgerAccounts(
                database,
                CallLedger(database, Prices(server.model_prices), server.daily_cost_cap),
                installation_key(server),
                keeps=GatewayKeeps(server.gateway_keeps),
                mask=secrecy.text,
            ),
            masker=lambda: secrecy.secrets_for().masker,
            keys=keys,
            patience=Patience(server.gateway_patience),
            threads=_THREADS,
        )
        _run(gateway, where, server)
    finally:
        database.close()


def _run(gateway: Gateway, where: Listening, server: ServerSettings) -> None:
    sys.setswitchinterval(_SWITCH)
    pulse = Pulse.from_environ(os.environ, "gateway")

    def tell(found: Listening) -> None:
        sys.stdout.write(f"{found.url}\n")
        sys.stdout.flush()
        log.info("gateway_started", url=found.url)

    serve(gateway, where, tell, grace=server.shutdown_grace, beat=pulse.beats("gateway"))
    log.info("gateway_stopped", served=gateway.served)


def _place(server: ServerSettings, order: GatewayOrder) -> Listening:
    """Where to listen: another host than this one only where it was named on the command line."""
    try:
        named = urlsplit(server.gateway_url if order.listen is None else f"//{order.listen}")
        host, port = named.hostname, named.port
    except ValueError:
        host, port = None, None
    if host is None or port is None:
        what = "gateway_url" if order.listen is None else "--listen"
        given = order.listen or server.gateway_url
        raise _wrong(f"{what}={given!r} does not name a host and a port, such as 127.0.0.1:8791")
    if order.listen is None and not is_loopback(host):
        raise _wrong(
            f"gateway_url={server.gateway_url!r} is not an address of this machine alone; to let "
            f"others reach the gateway, say so: --listen {host}:{port}"
        )
    return Listening(host, port)


def _require_free_of_cost(order: GatewayOrder) -> None:
    if order.standalone and order.script is None and order.replay is None:
        raise _wrong(
            "--standalone takes any token, so it needs a --script or a --replay, which cost nothing"
        )


def _upstream(server: ServerSettings, order: GatewayOrder, keys: Masker) -> Upstream:
    upstream: Upstream
    if order.script is not None:
        upstream = ScriptedUpstream(read_script(order.script))
    elif order.replay is not None:
        upstream = ReplayedUpstream(order.replay)
    else:
        upstream = HttpUpstream(providers_of(server), server.model_timeout)
    if order.record is not None:
        return RecordingUpstream(upstream, order.record, keys)
    return upstream


def _wrong(reason: str) -> Rejected:
    return Rejected(reason, stage="input", next_step=NextStep.of("gateway start"))
