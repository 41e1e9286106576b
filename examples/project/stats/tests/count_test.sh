#!/bin/sh
[ "$(printf '3\n1\n2\n' | sh count.sh)" = 3 ] && [ "$(sh count.sh </dev/null)" = 0 ]
