#!/bin/sh
# Makes a new folder skill: new-skill.sh NAME DESCRIPTION [PARENT-FOLDER]
# Prints the path of the new SKILL.md. Exit codes: 0 made, 1 refused, 2 usage.
set -eu
LC_ALL=C
export LC_ALL

refuse() {
    printf 'new-skill: %s\n' "$1" >&2
    exit 1
}

if [ "$#" -lt 2 ] || [ "$#" -gt 3 ]; then
    printf 'usage: %s NAME DESCRIPTION [PARENT-FOLDER]\n' "$0" >&2
    exit 2
fi
name=$1
description=$2
parent=${3:-.}

case $name in
    '' | *[!a-z0-9-]*) refuse "the name '$name' may hold only a-z, 0-9 and hyphens" ;;
    -* | *- | *--*) refuse "the name '$name' has a hyphen at an edge or two in a row" ;;
esac
[ "${#name}" -le 64 ] || refuse "the name has ${#name} characters; 64 are allowed"

# One line only: a newline would end the quoted YAML value in the wrong place.
[ "$(printf '%s' "$description" | wc -l)" -eq 0 ] || refuse 'the description must be one line'
[ -n "$description" ] || refuse 'the description is empty'

folder=${parent%/}/$name
[ ! -e "$folder" ] || refuse "$folder exists already"

quoted=$(printf '%s' "$description" | sed 's/\\/\\\\/g; s/"/\\"/g')
mkdir -p "$folder"
cat >"$folder/SKILL.md" <<END
---
name: $name
description: "$quoted"
---

# $name

What comes out at the end, and what must be at hand first.

## Steps

1. The first thing to do.
2. How to check the result.
END
printf '%s\n' "$folder/SKILL.md"
