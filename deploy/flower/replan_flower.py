"""What Flower watches: the product's own queues, on the broker that the settings name."""

import logging
import os
import sys
from urllib.parse import urlencode

from flower.urls import handlers as routes
from flower.views import BaseHandler
from flower.views.monitor import Metrics
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


class GuardedMetrics(Metrics):
    """The numbers for a monitoring system, which name workers and queues, behind the password."""

    @authenticated
    async def get(self) -> None:
        """Write them."""
        await super().get()


def _mend_routes() -> None:
    for place, route in enumerate(routes):
        if getattr(route, "name", None) == "worker":
            routes[place] = url(r"/worker/(.+)", JobsOfWorker, name="worker")
        elif isinstance(route, tuple) and route[0] == "/metrics":
            routes[place] = url("/metrics", GuardedMetrics)


# Of remote control workers understand `revoke` alone; that they do not answer when Flower asks for
# their configuration is no news.
logging.getLogger("flower.inspector").setLevel(logging.ERROR)
_mend_routes()

try:
    app = make_app(load_settings(os.environ).server.broker_url)
except ReplanError as error:
    sys.exit(f"{error.stage}: {error.reason}")
