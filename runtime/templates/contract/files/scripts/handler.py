#!/usr/bin/env python3
"""Carries out the contract: the input as JSON on stdin, the output as JSON on stdout."""

import json
import sys


class Failure(Exception):
    """A failure that the contract declares."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def carry_out(given):
    """The output for an input, which the schema has accepted."""
    try:
        return {"position": given["items"].index(given["wanted"])}
    except ValueError:
        raise Failure("NOT_FOUND", "the wanted item") from None


def main():
    try:
        output, status = carry_out(json.load(sys.stdin)), 0
    except Failure as failure:
        output, status = {"failure": {"code": failure.code, "message": str(failure)}}, 1
    json.dump(output, sys.stdout)
    return status


if __name__ == "__main__":
    sys.exit(main())
