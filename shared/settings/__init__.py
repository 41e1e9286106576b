"""Settings, read once: from a file, the environment, `--set`, or the running `replan up`."""

from shared.settings.connection import ConnectionFile, RunningElsewhere
from shared.settings.keys import KEYS, Key, KeyScope
from shared.settings.load import Settings, load_settings, usual_data_dir
from shared.settings.server import ServerSettings

__all__ = [
    "KEYS",
    "ConnectionFile",
    "Key",
    "KeyScope",
    "RunningElsewhere",
    "ServerSettings",
    "Settings",
    "load_settings",
    "usual_data_dir",
]
