"""The environment of every command: no prompts, pagers, colours, or waiting for a terminal.

`sudo` drops these variables unless its `env_keep` names them. Still, nothing hangs, because
standard input is /dev/null and there is no terminal: sudo itself fails at once instead of asking
for a password, debconf takes its defaults, and dpkg fails at a conffile question. For package
managers to behave the same under sudo, the host needs `SUDOERS_LINE`; the check of a host says so.
"""

import os
import pwd
from collections.abc import Mapping

from shared.programs import search_path

NON_INTERACTIVE: Mapping[str, str] = {
    "LC_ALL": "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "SYSTEMD_COLORS": "0",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "SUDO_ASKPASS": "/bin/false",
    "DEBIAN_FRONTEND": "noninteractive",
    "NEEDRESTART_MODE": "a",
    "APT_LISTCHANGES_FRONTEND": "none",
    "APT_LISTBUGS_FRONTEND": "none",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "COMPOSER_NO_INTERACTION": "1",
    "GH_PROMPT_DISABLED": "1",
    "TF_INPUT": "0",
}
"""Set for every command, on every host."""

UNSET = ("LANGUAGE", "DISPLAY", "WAYLAND_DISPLAY")
"""Unset for every command: LANGUAGE would translate messages, a display could show a prompt."""

KEPT_BY_SUDO = (
    "DEBIAN_FRONTEND",
    "NEEDRESTART_MODE",
    "APT_LISTCHANGES_FRONTEND",
    "APT_LISTBUGS_FRONTEND",
)
"""The variables that sudo should keep, for package managers that would prompt."""

SUDOERS_LINE = f'Defaults env_keep += "{" ".join(KEPT_BY_SUDO)}"'
"""The sudoers line that makes sudo keep them."""

EXPORTS = (
    f"export {' '.join(f'{name}={value}' for name, value in NON_INTERACTIVE.items())}"
    f";unset {' '.join(UNSET)}"
)
"""The same variables as shell text; no value needs quoting."""

_PASSED_ON = ("PATH", "TZ", "TMPDIR", "LANG", "XDG_RUNTIME_DIR")
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def local_environment(own: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a command on this machine, as after a fresh login.

    Only a few harmless variables of the worker's `own` environment are passed on: commands must
    not read the worker's settings and secrets. Programs of agents that are installed together with
    replan are found last.
    """
    inherited = os.environ if own is None else own
    account = pwd.getpwuid(os.getuid())
    environment = {
        "PATH": _DEFAULT_PATH,
        "HOME": account.pw_dir,
        "USER": account.pw_name,
        "LOGNAME": account.pw_name,
        "SHELL": account.pw_shell or "/bin/sh",
    }
    environment |= {name: inherited[name] for name in _PASSED_ON if name in inherited}
    environment["PATH"] = search_path(environment["PATH"])
    return environment | dict(NON_INTERACTIVE)
