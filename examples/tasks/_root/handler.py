"""Carries out every skill of this library: JSON on stdin, JSON on stdout.

The name of the skill is in SKILL_NAME, the directory of the data in SKILL_DATA. A failure is
reported as {"failure": {"code": ..., "message": ..., "details": {...}}} with exit code 1.
"""

import json
import os
import sys
import traceback

sys.dont_write_bytecode = True

from library import store, suggestions, tasks, tokens, users
from library.contract import Failure, Fields

# Each takes the checked fields of its input and the open database, and returns its output.
SKILLS = {
    "task_creation": tasks.create,
    "task_retrieval": tasks.retrieve,
    "task_update": tasks.update,
    "task_deletion": tasks.delete,
    "token_generation": tokens.generate,
    "token_validation": tokens.validate,
    "user_creation": users.create,
    "ownership_validation": tasks.validate_ownership,
    "suggestion_generation": suggestions.generate,
}


def answer(name, text):
    """The output of a skill for its input, which is JSON."""
    skill = SKILLS.get(name)
    if skill is None:
        raise Failure("INTERNAL_ERROR", "SKILL_NAME names no skill of this handler")
    fields = Fields.read(text)
    with store.opened(os.environ.get("SKILL_DATA")) as database:
        return skill(fields, database)


def main():
    # Of what is kept nobody else may read anything.
    os.umask(0o077)
    code = 0
    try:
        result = answer(os.environ.get("SKILL_NAME"), sys.stdin.buffer.read())
    except Failure as failure:
        result = {"failure": failure.as_json()}
        code = 1
    except Exception as error:
        # Where it happened, and not its message, which may repeat a value of the input.
        frames = "".join(traceback.format_tb(error.__traceback__))
        sys.stderr.write(f"{frames}{type(error).__name__}\n")
        result = {"failure": {"code": "INTERNAL_ERROR"}}
        code = 1
    sys.stdout.write(json.dumps(result) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
