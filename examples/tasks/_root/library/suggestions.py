"""Suggestions what to do next: from a model if there is one, else by rules.

The model is a command, whose words are a list in the file `ai-command` of the data directory:
["/usr/local/bin/suggest", "--brief"]. It is run without a shell and reads {"context", "count",
"tasks"}, and writes {"suggestions": [...]}, both as JSON. If there is none, if it fails, takes too
long, or writes anything else, the rules are used, and the output says `degraded`.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from .contract import Failure, check_text, format_instant, now
from .tasks import ITEM, STATUSES

COMMAND_NAME = "ai-command"

# Seconds for the command, less than the skill has.
PATIENCE = 15

# Bytes of its answer.
MOST_ANSWER = 256 * 1024

# Bytes of the file that names it.
MOST_COMMAND = 64 * 1024

# Tasks that are looked at.
MOST_TASKS = 1000

# Variables that the command gets. SKILL_DATA is not among them.
ENVIRONMENT = ("PATH", "HOME", "TMPDIR", "LANG")

OPEN = STATUSES[:2]

# How much each reason to do a task counts; together 1.
OVERDUE, URGENT, SIMILAR = 0.4, 0.3, 0.3

# Words that say nothing about a task.
COMMON = frozenset("a an and are as at be by for from in is it my of on or that the this to with".split())


def generate(fields, database):
    user_id = fields.required_identifier("user_id")
    context = fields.text("context")
    count = fields.number("count", 1, 10, default=3)
    database.user(user_id)
    rows = database.rows(
        f"SELECT {', '.join(ITEM)} FROM tasks WHERE user_id = :user_id AND status IN (:first, :second)"
        " ORDER BY number LIMIT :most",
        user_id=user_id,
        first=OPEN[0],
        second=OPEN[1],
        most=MOST_TASKS,
    )
    tasks = [dict(row) for row in rows]
    suggestions = by_command(database.directory, context, count, tasks)
    if suggestions is not None:
        return {"suggestions": suggestions[:count], "degraded": False}
    return {"suggestions": by_rules(context, tasks, format_instant(now()))[:count], "degraded": True}


def by_rules(context, tasks, at):
    """All open tasks, the best first. `at` is the time, as it is stored."""
    wanted = words_of(context or "")
    rated = [(task, *rate(task, wanted, at)) for task in tasks]
    # Tasks that are equally good stay in the order in which they were made.
    rated.sort(key=lambda it: (-it[1], it[0]["due_date"] or "9"))
    return [
        {
            "title": task["title"],
            "description": "; ".join(reasons) if reasons else None,
            "priority": task["priority"],
            "confidence": round(0.1 + 0.9 * score, 2),
        }
        for task, score, reasons in rated
    ]


def rate(task, wanted, at):
    """How good a suggestion a task is, from 0 to 1, and why."""
    score, reasons = URGENT * (task["priority"] - 1) / 4, []
    due = task["due_date"]
    if due is not None and due < at:
        score += OVERDUE
        reasons.append(f"overdue since {due}")
    if task["priority"] >= 4:
        reasons.append(f"priority {task['priority']}")
    own = words_of(f"{task['title']} {task['description'] or ''}")
    similar = [word for word in wanted if any(are_similar(word, it) for it in own)]
    if similar:
        score += SIMILAR * len(similar) / len(wanted)
        reasons.append(f"has to do with {', '.join(similar)}")
    return score, reasons


def words_of(text):
    """The words of a text that say something, without repetitions."""
    words = re.findall(r"\w+", text.casefold())
    return list(dict.fromkeys(word for word in words if word not in COMMON))


def are_similar(one, other):
    """Whether two words are equal, or begin with the same five letters, as `invoice`, `invoices`."""
    return one == other or (len(one) >= 5 and one[:5] == other[:5])


def by_command(directory, context, count, tasks, patience=PATIENCE):
    """The suggestions of the command; None if there is no command, or no answer to use."""
    path = os.path.join(directory, COMMAND_NAME)
    if not os.path.lexists(path):
        return None
    try:
        question = {"context": context, "count": count, "tasks": tasks}
        return checked(run(command_in(path), json.dumps(question).encode(), patience))
    except (OSError, ValueError, RecursionError, subprocess.SubprocessError, Failure) as error:
        # The journal keeps it. What the command has written is not repeated.
        sys.stderr.write(f"{COMMAND_NAME} is of no use: {type(error).__name__}\n")
        return None


def command_in(path):
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(opened, "rb") as file:
        words = json.loads(file.read(MOST_COMMAND))
    if not isinstance(words, list) or not words or not all(isinstance(it, str) for it in words):
        raise ValueError("not a list of words")
    return words


def run(words, question, patience):
    """What the command writes for what it reads. Files hold both, so that neither side waits."""
    environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as answer:
        asked.write(question)
        asked.seek(0)
        process = subprocess.Popen(
            words,
            stdin=asked,
            stdout=answer,
            stderr=subprocess.DEVNULL,
            env=environment,
            # What it starts ends with it.
            start_new_session=True,
        )
        try:
            code = process.wait(patience)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except OSError:
                pass
            process.wait()
        if code != 0:
            raise ValueError("it failed")
        answer.seek(0)
        written = answer.read(MOST_ANSWER + 1)
    if len(written) > MOST_ANSWER:
        raise ValueError("too long")
    return written


def checked(answer):
    """The suggestions in an answer. One that is wrong makes all of it useless."""
    found = json.loads(answer)
    suggestions = found.get("suggestions") if isinstance(found, dict) else None
    if not isinstance(suggestions, list):
        raise ValueError("no list")
    return [checked_suggestion(it) for it in suggestions]


def checked_suggestion(it):
    if not isinstance(it, dict):
        raise ValueError("no object")
    title, description = it.get("title"), it.get("description")
    priority, confidence = it.get("priority"), it.get("confidence")
    check_text("title", title)
    if description is not None:
        check_text("description", description)
    is_whole = isinstance(priority, int) and not isinstance(priority, bool)
    is_number = isinstance(confidence, (int, float)) and not isinstance(confidence, bool)
    is_sound = title.strip() and is_whole and 1 <= priority <= 5
    if not is_sound or not is_number or not 0 <= confidence <= 1:
        raise ValueError("a field is wrong")
    return {
        "title": title,
        "description": description,
        "priority": priority,
        "confidence": confidence,
    }
