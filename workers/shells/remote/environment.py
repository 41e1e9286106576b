"""The environment of every command: nothing may ask, page, colour or wait for a terminal.

`sudo` drops these variables unless its `env_keep` names them. Nothing can hang for it, since
standard input is /dev/null and there is no terminal: sudo itself fails at once instead of asking
for a password, debconf takes its defaults, dpkg fails at a conffile question. To have a package
manager behave the same under sudo, the host needs `SUDOERS_LINE`; checking a host says so.
"""

import os
import pwd
from collections.abc import Mapping

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
"""Removed for every command: LANGUAGE would translate messages, a display could show a prompt."""

KEPT_BY_SUDO = (
    "DEBIAN_FRONTEND",
    "NEEDRESTART_MODE",
    "APT_LISTCHANGES_FRONTEND",
    "APT_LISTBUGS_FRONTEND",
)
"""What should survive sudo, for package managers that would ask."""

SUDOERS_LINE = f'Defaults env_keep += "{" ".join(KEPT_BY_SUDO)}"'
"""The sudoers line that lets them survive."""

EXPORTS = (
    f"export {' '.join(f'{name}={value}' for name, value in NON_INTERACTIVE.items())}"
    f";unset {' '.join(UNSET)}"
)
"""The same as shell text; no value needs quoting."""

_PASSED_ON = ("PATH", "TZ", "TMPDIR", "LANG", "XDG_RUNTIME_DIR")
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def local_environment(own: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a command on this machine, as a fresh login would have it.

    Of the worker's `own` environment only a few harmless names are passed on: settings and secrets
    of the worker are not the command's to read.
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
    return environment | dict(NON_INTERACTIVE)
