#!/bin/sh
# Writes a leaf skill of the tree dialect: new-leaf.sh FILE.md DESCRIPTION KEYWORD,KEYWORD,...
# Prints the path. Exit codes: 0 written, 1 refused, 2 usage.
set -eu

refuse() {
    printf 'new-leaf: %s\n' "$1" >&2
    exit 1
}

# Arguments may also come the way a server passes them, as SKILL_ARG_*.
file=${1:-${SKILL_ARG_FILE:-}}
description=${2:-${SKILL_ARG_DESCRIPTION:-}}
keywords=${3:-${SKILL_ARG_KEYWORDS:-}}
if [ -z "$file" ] || [ -z "$description" ] || [ -z "$keywords" ]; then
    printf 'usage: %s FILE.md DESCRIPTION KEYWORD,KEYWORD,...\n' "$0" >&2
    exit 2
fi

case $file in
    *.md) ;;
    *) refuse "'$file' does not end in .md" ;;
esac
[ ! -e "$file" ] || refuse "$file exists already"
case $keywords in
    *[!A-Za-z0-9,\ -]*) refuse 'keywords may hold letters, digits, hyphens and blanks, with commas between them' ;;
esac
[ "$(printf '%s' "$description" | wc -l)" -eq 0 ] || refuse 'the description must be one line'

quoted=$(printf '%s' "$description" | sed 's/\\/\\\\/g; s/"/\\"/g')
# Quoted too: a bare `on` or `42` would be a boolean or a number in YAML.
list=$(printf '%s' "$keywords" | sed 's/^ *//; s/ *$//; s/ *, */", "/g')
mkdir -p "$(dirname "$file")"
cat >"$file" <<END
---
keywords: ["$list"]
description: "$quoted"
---

# $(basename "$file" .md)

1. The first thing to do, and the sign that it worked.
END
printf '%s\n' "$file"
