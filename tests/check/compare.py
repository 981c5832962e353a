#!/usr/bin/env python3
"""Compares `skillbundle check` with agnix and skills-ref.

    tests/check/compare.py SKILLBUNDLE [TREE]...

SKILLBUNDLE is a release build with default features. Each fault of faults.toml is given to each checker
twice, with the fault and without: what it reports about the first alone is about the fault, and its line
is right or wrong. Then every TREE of skills is checked whole by each, in turn, several times; the time to
walk and read the same files in the same process is the floor.

Needs the PyPI packages agnix 0.59.3 and skills-ref 0.1.1; they are installed into a virtual environment
in a temporary directory, or taken from the one that SKILLBUNDLE_CHECKERS names.
"""

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = ["agnix==0.59.3", "skills-ref==0.1.1"]
ROUNDS = 5


def environment(directory):
    """The programs of the other checkers."""
    named = os.environ.get("SKILLBUNDLE_CHECKERS")
    place = Path(named) if named else Path(directory) / "checkers"
    if not place.is_dir():
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin/pip", "install", "-q", *PACKAGES], check=True)
    return place / "bin"


def ours(program, tree):
    command = [program, "check", tree, "--profile", "portable,spec", "--format", "json", "-v"]
    run = subprocess.run(command, capture_output=True, text=True)
    for finding in json.loads(run.stdout).get("findings", []):
        yield finding["code"], Path(finding["file"]).name, finding.get("line"), finding["message"]


def agnix(program, tree):
    run = subprocess.run([program, tree, "--format", "json"], capture_output=True, text=True)
    for finding in json.loads(run.stdout)["diagnostics"]:
        yield finding["rule"], Path(finding["file"]).name, finding["line"], finding["message"]


def skills_ref(program, tree):
    for skill in sorted(Path(tree).iterdir()):
        run = subprocess.run([program, "validate", skill], capture_output=True, text=True)
        for line in re.findall(r"^  - (.*(?:\n(?!  - ).*)*)", run.stdout + run.stderr, re.M):
            at = re.search(r"line: (\d+)\)", line) or re.search(r"line (\d+)", line)
            yield re.sub(r"\W.*", "", line), "SKILL.md", int(at[1]) if at else None, line


def write(directory, text):
    parts = re.split(r"^>>> (.*)\n", text, flags=re.M)[1:] if text.startswith(">>> ") else ["example/SKILL.md", text]
    for path, content in zip(parts[::2], parts[1::2]):
        file = Path(directory) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, newline="")


def found(checker, text):
    """What a checker says of these files, without numbers, which differ from one to the other."""
    with tempfile.TemporaryDirectory() as directory:
        tree = os.path.join(directory, "skills")
        os.mkdir(tree)
        write(tree, text)
        return [(code, file, line, re.sub(r"\d+", "#", message)) for code, file, line, message in checker(tree)]


def compare_faults(checkers):
    faults = tomllib.loads((HERE / "faults.toml").read_text())["fault"]
    totals = {name: [0, 0] for name in checkers}
    print(f"{'fault':45}" + "".join(f"{name:>14}" for name in checkers))
    for fault in faults:
        row = f"{fault['name']:45}"
        for name, checker in checkers.items():
            without = {(code, message) for code, _, _, message in found(checker, fault["good"])}
            new = [it for it in found(checker, fault["bad"]) if (it[0], it[3]) not in without]
            line = fault.get("line")
            is_right = any(line is None or it[2] == line or (it[2] is None and line == 1) for it in new)
            totals[name][0] += bool(new)
            totals[name][1] += is_right
            row += f"{'line right' if is_right else 'found' if new else '-':>14}"
        print(row)
    print(f"{'found':45}" + "".join(f"{totals[name][0]:>10}/{len(faults)}" for name in checkers))
    print(f"{'with the right line':45}" + "".join(f"{totals[name][1]:>10}/{len(faults)}" for name in checkers))


def measure(command):
    """Wall and CPU seconds of a command."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime



def compare_speed(programs, tree):
    commands = {
        "skillbundle": [programs["skillbundle"], "check", tree, "-v", "--format", "json"],
        "agnix": [programs["agnix"], tree, "--format", "json"],
        "find and cat": ["sh", "-c", f"find '{tree}' -type f -print0 | xargs -0 cat"],
    }
    times = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(measure(command))
    print(f"\n{tree}")
    ratio = None
    for name, runs in times.items():
        wall, cpu = (statistics.median(column) for column in zip(*runs))
        if name == "skillbundle":
            ratio = wall, cpu
        print(
            f"  {name:14} {wall * 1000:9.1f} ms wall ({wall / ratio[0]:6.1f} times ours)"
            f"  {cpu * 1000:9.1f} ms CPU ({cpu / ratio[1]:6.1f})"
        )


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as directory:
        others = environment(directory)
        programs = {
            "skillbundle": os.path.abspath(sys.argv[1]),
            "agnix": others / "agnix",
            "skills-ref": others / "agentskills",
        }
        compare_faults(
            {
                "skillbundle": lambda tree: ours(programs["skillbundle"], tree),
                "agnix": lambda tree: agnix(programs["agnix"], tree),
                "skills-ref": lambda tree: skills_ref(programs["skills-ref"], tree),
            }
        )
        for tree in sys.argv[2:]:
            compare_speed(programs, tree)


main()
