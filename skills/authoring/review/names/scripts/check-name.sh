#!/bin/sh
# Says whether a skill name is accepted everywhere. Takes SKILL_ARG_NAME and, optionally,
# SKILL_ARG_FOLDER from the environment, or NAME and FOLDER as arguments.
# Exit codes: 0 accepted, 1 not accepted, 2 no name given.
set -eu
LC_ALL=C
export LC_ALL

name=${SKILL_ARG_NAME:-${1:-}}
folder=${SKILL_ARG_FOLDER:-${2:-$name}}
if [ -z "$name" ]; then
    printf 'check-name: no name given; set SKILL_ARG_NAME\n' >&2
    exit 2
fi

status=0
finding() {
    printf '%s: %s\n' "$name" "$1"
    status=1
}

case $name in
    *[!a-z0-9-]*) finding 'holds something other than a-z, 0-9 and hyphens' ;;
esac
case $name in
    -* | *-) finding 'has a hyphen at an edge' ;;
esac
case $name in
    *--*) finding 'has two hyphens in a row' ;;
esac
[ "${#name}" -le 64 ] || finding "has ${#name} characters; 64 are allowed"
[ "$name" = "$folder" ] || finding "differs from its folder '$folder'"

[ "$status" -ne 0 ] || printf '%s: accepted\n' "$name"
exit "$status"
