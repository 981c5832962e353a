"""The database: one SQLite file in the data directory, made when it is first used."""

import os
import sqlite3
import stat
import time
from contextlib import contextmanager

from .contract import Failure, not_found

NAME = "tasks.db"

# Seconds to wait for others who write.
PATIENCE = 5

# The version of the tables, in `user_version` of the file.
VERSION = 1

TABLES = """
CREATE TABLE users (
    user_id TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    -- The same for all spellings of one address.
    email_key TEXT NOT NULL UNIQUE,
    password TEXT NOT NULL,
    display_name TEXT,
    created_at TEXT NOT NULL
);
CREATE TABLE tasks (
    -- Rows get rising numbers, so that lists keep their order.
    number INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
    title TEXT NOT NULL,
    description TEXT,
    status TEXT NOT NULL,
    priority INTEGER NOT NULL,
    due_date TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX tasks_of_users ON tasks (user_id, status);
"""

# What SQLite says, and the reason in a failure. Older versions of Python have no codes.
REASONS = (
    ("locked", "the database is busy"),
    ("full", "the disk is full"),
    ("malformed", "the database is damaged"),
    ("not a database", "the database is damaged"),
    ("disk I/O", "the disk failed"),
    ("readonly", "the data directory cannot be written"),
    ("unable to open", "the data directory cannot be used"),
)


class Database:
    """An open database, and the directory that it is in."""

    def __init__(self, directory, connection):
        self.directory = directory
        self.connection = connection

    def rows(self, statement, **values):
        return self.connection.execute(statement, values).fetchall()

    def row(self, statement, **values):
        """The only row, or None."""
        return self.connection.execute(statement, values).fetchone()

    def change(self, statement, **values):
        self.connection.execute(statement, values)

    def reading(self):
        """A transaction in which all is as it was at its beginning."""
        return transaction(self.connection, "BEGIN")

    def writing(self):
        """A transaction in which no other one writes, so that what is checked in it stays true."""
        return transaction(self.connection, "BEGIN IMMEDIATE")

    def user(self, user_id):
        """The row of a user, who must exist."""
        found = self.row("SELECT * FROM users WHERE user_id = :user_id", user_id=user_id)
        if found is None:
            raise not_found("user", user_id)
        return found


@contextmanager
def transaction(connection, begin):
    connection.execute(begin)
    try:
        yield
    except BaseException:
        # Some faults have ended it already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def opened(directory):
    """The database in a directory; every fault of it or of the disk is a PERSISTENCE_ERROR."""
    if not directory:
        raise Failure(
            "PERSISTENCE_ERROR",
            reason="there is no data directory; give one with --script-data DIR",
        )
    connection = None
    try:
        connection = connect(directory)
        yield Database(directory, connection)
    except sqlite3.Error as error:
        raise Failure("PERSISTENCE_ERROR", reason=reason_of(error)) from None
    except OSError as error:
        # The system's words for the number, without the path.
        reason = os.strerror(error.errno) if error.errno else "the disk failed"
        raise Failure("PERSISTENCE_ERROR", reason=reason) from None
    finally:
        if connection is not None:
            connection.close()


def reason_of(error):
    said = str(error)
    known = (reason for words, reason in REASONS if words in said)
    return next(known, "the database failed")


def connect(directory):
    path = os.path.join(directory, NAME)
    # Another script may have put something else there, such as a pipe that holds up its readers.
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise Failure("PERSISTENCE_ERROR", reason="the database is not a file")
    # Transactions begin where the code says so.
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        write_ahead(connection)
        make_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def write_ahead(connection):
    """Turns on the write-ahead log. For that SQLite does not wait until the file is free."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def make_tables(connection):
    if version(connection) == VERSION:
        return
    with transaction(connection, "BEGIN IMMEDIATE"):
        # Another may have made them meanwhile.
        found = version(connection)
        if found == 0:
            for statement in TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        elif found != VERSION:
            reason = "another version of this library has made the database"
            raise Failure("PERSISTENCE_ERROR", reason=reason)


def version(connection):
    return connection.execute("PRAGMA user_version").fetchone()[0]
