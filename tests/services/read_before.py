"""What every process of the product reads at its start and never changes, read by importing this.

`preloaded` imports it in the process that all others are forked from: they find it in memory.
"""

import gc
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from orchestrator import access, acts, probes, views, words
from orchestrator.cli.main import command
from shared import contracts
from workers.roles.guards import Guards

LATE = (
    "anthropic",
    "workers.gateway.run",
    "workers.llm.backend",
    "workers.shells.remote.ssh",
    "workers.shells.remote.tunnel",
)
"""What a process loads with its first job or command."""

command()
for package in (access, acts, probes, views, words, contracts):
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
for name in LATE:
    import_module(name)
for policy in (None, Path(__file__).with_name("open_policy.yaml")):
    Guards(policy)((), "localhost")
gc.collect()
# A collection in a forked process would touch, and so copy, what they share.
gc.freeze()
