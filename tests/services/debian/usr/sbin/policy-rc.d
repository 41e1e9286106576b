#!/bin/sh
# No service is started by an installation: a step of the plan does that.
exit 101
