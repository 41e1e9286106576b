"""Settings, read once: from a file, the environment, `--set`, or the running `replan up`."""

from shared.settings.connection import ConnectionFile, RunningElsewhere, find_up
from shared.settings.keys import KEYS, Key, KeyScope
from shared.settings.load import Implied, Settings, load_settings, usual_data_dir
from shared.settings.model_keys import missing_key_of
from shared.settings.server import ServerSettings

__all__ = [
    "KEYS",
    "ConnectionFile",
    "Implied",
    "Key",
    "KeyScope",
    "RunningElsewhere",
    "ServerSettings",
    "Settings",
    "find_up",
    "load_settings",
    "missing_key_of",
    "usual_data_dir",
]
