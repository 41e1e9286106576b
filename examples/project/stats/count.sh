#!/bin/sh
awk 'END { print NR }' "$@"
