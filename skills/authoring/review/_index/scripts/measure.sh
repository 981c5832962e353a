#!/bin/sh
# Measures Markdown skills: measure.sh FILE...
# Prints one line per file. Exit codes: 0 within limits, 1 a limit is passed, 2 usage.
set -eu
LC_ALL=C
export LC_ALL

if [ "$#" -eq 0 ]; then
    printf 'usage: %s FILE.md...\n' "$0" >&2
    exit 2
fi

status=0
for file in "$@"; do
    if [ ! -f "$file" ]; then
        printf 'measure: %s is not a file\n' "$file" >&2
        exit 2
    fi
    # A token is taken as four bytes; good enough to see what is far too long.
    awk -v file="$file" '
        NR == 1 && $0 ~ /^---[ \t\r]*$/ { front = 1; next }
        front && $0 ~ /^---[ \t\r]*$/ { front = 0; next }
        front && sub(/^description:[ \t]*/, "") { described = length($0) }
        { lines++; words += NF; bytes += length($0) + 1 }
        END {
            tokens = int((bytes + 3) / 4)
            verdict = "ok"
            if (lines > 500 || tokens > 5000 || described > 1024) verdict = "too long"
            printf "%s: %d lines, %d words, about %d tokens, description %d: %s\n",
                file, lines, words, tokens, described, verdict
            exit verdict != "ok"
        }
    ' "$file" || status=1
done
exit "$status"
