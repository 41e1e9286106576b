#!/bin/sh
# The report on the sample is the expected one.
cd "$(dirname "$0")/.." && sh report.sh tests/access.log | diff tests/expected -
