"""What every process of the product reads at its start and never changes, read by importing this.

`preloaded` imports it in the process that all others are forked from: they find it in memory.
"""

import gc
from pathlib import Path

from orchestrator.cli.main import command
from workers.roles.guards import Guards

command()
for policy in (None, Path(__file__).with_name("open_policy.yaml")):
    Guards(policy)((), "localhost")
gc.collect()
# A collection in a forked process would touch, and so copy, what they share.
gc.freeze()
