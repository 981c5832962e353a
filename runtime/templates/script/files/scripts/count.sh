#!/bin/sh
# Prints the number of lines of each FILE: count.sh FILE...
# Exit codes: 0 all were read, 1 one could not be read, 2 usage.
set -eu

if [ "$#" -eq 0 ]; then
    printf 'usage: %s FILE...\n' "$0" >&2
    exit 2
fi
status=0
for file in "$@"; do
    if [ -f "$file" ] && [ -r "$file" ]; then
        printf '%s\t%s\n' "$(awk 'END { print NR }' <"$file")" "$file"
    else
        printf 'count: cannot read %s\n' "$file" >&2
        status=1
    fi
done
exit "$status"
