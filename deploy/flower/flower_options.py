"""Flower's options: it only looks, and lets nobody in without the password."""

import os
import sys

_user, _, _password = os.environ.get("FLOWER_BASIC_AUTH", "").partition(":")
if not _user or not _password:
    sys.exit(
        "flower: FLOWER_BASIC_AUTH=name:password is not set, and without it anybody could look"
    )

# Who may look comes from FLOWER_BASIC_AUTH, which Flower reads by itself.
read_only = True
# Workers send their events by themselves and obey no one who asks for them.
enable_events = False
# Jobs first: which one, what became of it, and who did it.
tasks_columns = "name,args,state,result,received,started,runtime,worker"
max_tasks = 20_000
# A worker that was scaled away is no longer listed after this many seconds.
purge_offline_workers = 600
