"""What can be set, read once: from a file, the environment, `--set`, or the running `replan up`."""

from shared.settings.connection import ConnectionFile
from shared.settings.keys import KEYS, Key, Scope
from shared.settings.load import Settings, load_settings
from shared.settings.server import ServerSettings

__all__ = ["KEYS", "ConnectionFile", "Key", "Scope", "ServerSettings", "Settings", "load_settings"]
