"""What Flower watches: the product's own queues, on the broker that the settings name."""

import logging
import os
import sys

from shared.domain.errors import ReplanError
from shared.queue.app import make_app
from shared.settings import load_settings

# Workers take no remote control; that they do not answer when Flower asks for their
# configuration is no news.
logging.getLogger("flower.inspector").setLevel(logging.ERROR)

try:
    app = make_app(load_settings(os.environ).server.broker_url)
except ReplanError as error:
    sys.exit(f"{error.stage}: {error.reason}")
