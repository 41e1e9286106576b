"""Opens one authenticated SSH connection to a host whose key is known."""

import contextlib
import itertools
import logging
import random
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, cast

import paramiko
from paramiko.common import MSG_CHANNEL_REQUEST, cMSG_GLOBAL_REQUEST
from paramiko.message import Message

from shared.domain.errors import ReplanError, Transient
from shared.domain.host import Host
from workers.shells.remote.errors import misconfigured, replace_key_command, transient
from workers.shells.remote.foreign_errors import translate
from workers.shells.remote.host_secrets import Reveal, no_vault
from workers.shells.remote.hostkeys import HostKey, WrongHostKey, pinned_key
from workers.shells.remote.login import log_in, login_of
from workers.shells.remote.signals import exit_code_of
from workers.shells.remote.tunnel import Tunnel, open_tunnel


@dataclass(frozen=True, slots=True)
class Timing:
    """How long each part of a connection may take, in seconds."""

    connect: float = 10.0
    banner: float = 15.0
    handshake: float = 15.0
    authenticate: float = 20.0
    open_session: float = 10.0
    keepalive: float = 5.0
    """Seconds between two questions whether the host is still there."""
    answer: float = 20.0
    """A connection is lost after so many seconds without an answer to such a question."""
    dead_after: float = 30.0
    """A connection is lost after so many seconds without an acknowledgement."""
    tries: int = 6
    """How often to try a host that is too busy to send its banner."""
    first_pause: float = 0.15
    """Seconds before the second try; doubled, with jitter, before each further one."""


DEFAULT_TIMING = Timing()

Sleep = Callable[[float], None]


_inherited: Mapping[str, Any] = vars(paramiko.Transport)
_handlers: dict[int, Callable[..., Any]] = _inherited["_channel_handler_table"]
_handle_request = _handlers[MSG_CHANNEL_REQUEST]


def _handle_request_or_signal(channel: paramiko.Channel, message: Message) -> None:
    start = message.packet.tell()
    if message.get_text() != "exit-signal":
        message.packet.seek(start)
        _handle_request(channel, message)
        return
    message.get_boolean()
    channel.exit_status = exit_code_of(message.get_text())
    channel.status_event.set()


class HostTransport(paramiko.Transport):
    """A transport that notices what paramiko's own does not.

    Its channels also report an end by signal, as exit code 128 + its number: paramiko ignores the
    server's "exit-signal", so such an end would look like a lost connection. The message is visible
    only in its dispatch table, which serves every channel.

    It is lost when the host no longer answers (`ask_for_life`): a proxy, a firewall or a jump host
    in between may acknowledge what it can no longer deliver.
    """

    _channel_handler_table: ClassVar = {
        **_handlers,
        MSG_CHANNEL_REQUEST: _handle_request_or_signal,
    }
    _asked_at: float | None = None
    _answered_at = 0.0

    def ask_for_life(self, every: float, within: float) -> None:
        """From now on, ask `every` so many seconds, and be lost without an answer `within` some."""
        self._answered_at = time.monotonic()
        look = partial(self._look_for_life, every, within)
        self.packetizer.set_keepalive(min(every, within, 1.0), look)

    def _look_for_life(self, every: float, within: float) -> None:
        """Ask if it is time; raises SSHException, in the thread that reads, if all is lost."""
        now = time.monotonic()
        if self._asked_at is not None:
            if now - self._asked_at > within:
                raise paramiko.SSHException(f"the host has not answered for {within:.0f} s")
        elif now - self._answered_at >= every:
            self._asked_at = now
            question = Message()
            question.add_byte(cMSG_GLOBAL_REQUEST)
            question.add_string("keepalive@openssh.com")
            wants_answer = True
            question.add_boolean(wants_answer)
            _inherited["_send_user_message"](self, question)

    def _parse_request_failure(self, message: Message) -> None:
        self._note_answer()
        _inherited["_parse_request_failure"](self, message)

    def _parse_request_success(self, message: Message) -> None:
        self._note_answer()
        _inherited["_parse_request_success"](self, message)

    def _note_answer(self) -> None:
        self._asked_at, self._answered_at = None, time.monotonic()


def connect(
    host: Host,
    timing: Timing = DEFAULT_TIMING,
    *,
    sleep: Sleep = time.sleep,
    reveal: Reveal = no_vault,
) -> HostTransport:
    """An open, authenticated connection; only the enrolled host key is accepted.

    If the host has a jump host, the connection goes through it, with the same promises. `reveal`
    returns the secret of a name. Raises Transient when the host cannot be reached or is busy,
    Misconfigured when the key, the host key or the account is wrong. Keys of an agent or of the
    worker's home are never tried.
    """
    login = login_of(host, reveal)
    pinned = pinned_key(host)
    transport = negotiate(host, pinned, timing, sleep=sleep, reveal=reveal)
    try:
        log_in(transport, host, login)
    except BaseException:
        transport.close()
        raise
    transport.ask_for_life(timing.keepalive, timing.answer)
    return transport


def negotiate(
    host: Host,
    pinned: HostKey | None,
    timing: Timing = DEFAULT_TIMING,
    *,
    sleep: Sleep = time.sleep,
    reveal: Reveal = no_vault,
) -> HostTransport:
    """An encrypted connection before the login; `pinned` None accepts any host key.

    If the host closes the connection instead of greeting (as sshd does when too many clients log
    in at once), it is tried again, `timing.tries` times in all.
    """
    pause, give_up_at = timing.first_pause, time.monotonic() + timing.banner
    for tried in itertools.count(1):
        try:
            return _negotiate_once(host, pinned, timing, reveal)
        except _BusyError as busy:
            if tried >= timing.tries or time.monotonic() > give_up_at:
                raise busy.error from None
        sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - jitter, not a secret
        pause *= 2
    raise AssertionError("unreachable")


class _BusyError(Exception):
    """The host closed the connection before it greeted; `error` is the error of the last try."""

    def __init__(self, error: ReplanError) -> None:
        super().__init__(str(error))
        self.error = error


def _negotiate_once(
    host: Host, pinned: HostKey | None, timing: Timing, reveal: Reveal
) -> HostTransport:
    transport = _new_transport(host, _way(host, timing, reveal), timing)
    try:
        if pinned is not None:
            _pin(transport, host, pinned)
        _start(transport, host, timing, reveal)
        if pinned is not None:
            _compare(transport, host, pinned)
    except BaseException:
        transport.close()
        # A failed start leaves behind its socket and the timer of its handshake.
        transport.sock.close()
        transport.packetizer.complete_handshake()
        raise
    return transport


def _way(host: Host, timing: Timing, reveal: Reveal) -> socket.socket | Tunnel:
    if host.via is None:
        return _socket(host, timing)
    jump = connect(host.via, timing, reveal=reveal)
    return open_tunnel(jump, host, timeout=timing.connect)


def _socket(host: Host, timing: Timing) -> socket.socket:
    try:
        connected = socket.create_connection((host.address, host.port), timeout=timing.connect)
    except (OverflowError, UnicodeError):
        raise misconfigured(host, "this is not a valid address", stage="connect") from None
    except OSError as error:
        raise translate(error, host, stage="connect") from error
    # Without TCP_NODELAY, every command waits 40 ms for a delayed acknowledgement.
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "linux":
        milliseconds = int(timing.dead_after * 1000)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    return connected


def _new_transport(host: Host, connected: socket.socket | Tunnel, timing: Timing) -> HostTransport:
    _quieten()
    try:
        transport = HostTransport(cast(socket.socket, connected))
    except paramiko.SSHException as error:
        connected.close()
        raise translate(error, host, stage="connect") from error
    transport.banner_timeout = timing.banner
    transport.handshake_timeout = timing.handshake
    transport.auth_timeout = timing.authenticate
    transport.channel_timeout = timing.open_session
    return transport


def _start(transport: paramiko.Transport, host: Host, timing: Timing, reveal: Reveal) -> None:
    try:
        transport.start_client(timeout=timing.banner + timing.handshake)
        transport.get_remote_server_key()
    except paramiko.ssh_exception.IncompatiblePeer as error:
        if "host key" in str(error):
            raise _no_pinned_key(host, timing, reveal) from error
        raise translate(error, host, stage="connect") from error
    except (paramiko.SSHException, EOFError, OSError) as error:
        failed = translate(error, host, stage="connect")
        if isinstance(failed, Transient) and not transport.remote_version:
            raise _BusyError(_no_greeting(host, error)) from error
        raise failed from error


def _no_greeting(host: Host, error: Exception) -> Transient:
    detail = f" ({error})" if str(error) else ""
    return transient(
        host,
        f"it accepts connections but does not greet{detail}: too many clients log in at once, or "
        "no SSH server listens on that port; if this lasts, raise MaxStartups in its sshd_config",
        stage="connect",
    )


def _pin(transport: paramiko.Transport, host: Host, pinned: HostKey) -> None:
    try:
        transport.get_security_options().key_types = pinned.algorithms
    except ValueError:
        raise misconfigured(
            host,
            f"host keys of type {pinned.key_type} are not supported",
            stage="host_key",
            next_step=replace_key_command(host),
        ) from None


def _compare(transport: paramiko.Transport, host: Host, pinned: HostKey) -> None:
    offered = host_key_of(transport)
    if offered != pinned:
        raise _changed_key(host, pinned, offered)


def host_key_of(transport: paramiko.Transport) -> HostKey:
    """The host key that the host has proved."""
    key = transport.get_remote_server_key()
    return HostKey(key.get_name(), key.asbytes())


def _no_pinned_key(host: Host, timing: Timing, reveal: Reveal) -> WrongHostKey:
    pinned, offered = pinned_key(host), None
    with contextlib.suppress(ReplanError):
        transport = negotiate(host, None, timing, reveal=reveal)
        offered = host_key_of(transport)
        transport.close()
    return _changed_key(host, pinned, offered)


def _changed_key(host: Host, pinned: HostKey, offered: HostKey | None) -> WrongHostKey:
    now = (
        "it no longer offers a key of that type" if offered is None else f"it now offers {offered}"
    )
    return WrongHostKey(
        host,
        f"its host key has changed: {pinned} was enrolled, {now}; "
        "either the host was installed again, or somebody intercepts the connection",
    )


def _quieten() -> None:
    # paramiko also raises everything that it would log, and we report that in our own words.
    logger = logging.getLogger("paramiko")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL + 1)
