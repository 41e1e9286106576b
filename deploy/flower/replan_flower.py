"""What Flower watches: the product's own queues, on the broker that the settings name."""

import logging
import os
import sys
from urllib.parse import urlencode

from flower.urls import handlers as routes
from flower.views import BaseHandler
from tornado.web import authenticated, url

from shared.domain.errors import ReplanError
from shared.queue.app import make_app
from shared.settings import load_settings


class JobsOfWorker(BaseHandler):
    """A worker's page: what it has done, in place of what only remote control could tell."""

    @authenticated
    def get(self, name: str) -> None:
        """Lead on to its jobs."""
        self.redirect(f"{self.reverse_url('tasks')}?{urlencode({'worker': name})}")


def _lead_to_jobs() -> None:
    for place, route in enumerate(routes):
        if getattr(route, "name", None) == "worker":
            routes[place] = url(r"/worker/(.+)", JobsOfWorker, name="worker")


# Of remote control workers understand `revoke` alone; that they do not answer when Flower asks for
# their configuration is no news.
logging.getLogger("flower.inspector").setLevel(logging.ERROR)
_lead_to_jobs()

try:
    app = make_app(load_settings(os.environ).server.broker_url)
except ReplanError as error:
    sys.exit(f"{error.stage}: {error.reason}")
