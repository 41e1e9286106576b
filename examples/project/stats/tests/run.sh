#!/bin/sh
for each in tests/*_test.sh; do
  sh "$each" || { echo "red: $each"; exit 1; }
done
echo "all tests are green"
