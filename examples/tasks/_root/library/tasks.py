"""Tasks. Each belongs to one user, and only that one may change it."""

import uuid

from .contract import Failure, format_instant, invalid, not_found, now

STATUSES = ("pending", "in_progress", "completed", "cancelled")

# The fields of a task in an output.
ITEM = (
    "task_id",
    "title",
    "description",
    "status",
    "priority",
    "due_date",
    "created_at",
    "updated_at",
)


def create(fields, database):
    fields.required("title")
    user_id = fields.required_identifier("user_id")
    created_at = format_instant(now())
    task = {
        "task_id": str(uuid.uuid4()),
        "user_id": user_id,
        "title": title_of(fields),
        "description": fields.text("description", most=2000),
        "status": STATUSES[0],
        "priority": fields.number("priority", 1, 5, default=1),
        "due_date": fields.instant("due_date"),
        "created_at": created_at,
        "updated_at": created_at,
    }
    names = ", ".join(task)
    values = ", ".join(f":{name}" for name in task)
    with database.writing():
        database.user(user_id)
        database.change(f"INSERT INTO tasks ({names}) VALUES ({values})", **task)
    return {name: task[name] for name in ("task_id", "title", "created_at")}


def retrieve(fields, database):
    """The tasks of a user. Those of others do not exist for this one."""
    user_id = fields.required_identifier("user_id")
    task_id = fields.identifier("task_id")
    status = fields.choice("status_filter", STATUSES)
    limit = fields.number("limit", 1, 1000, default=100)
    # What SQLite can count.
    offset = fields.number("offset", 0, 2**63 - 1, default=0)
    conditions = (
        "user_id = :user_id AND task_id = ifnull(:task_id, task_id)"
        " AND status = ifnull(:status, status)"
    )
    values = {"user_id": user_id, "task_id": task_id, "status": status}
    with database.reading():
        database.user(user_id)
        if task_id is not None and owner_of(database, task_id) != user_id:
            raise not_found("task", task_id)
        total = database.row(f"SELECT count(*) FROM tasks WHERE {conditions}", **values)[0]
        rows = database.rows(
            f"SELECT {', '.join(ITEM)} FROM tasks WHERE {conditions}"
            " ORDER BY number LIMIT :limit OFFSET :offset",
            limit=limit,
            offset=offset,
            **values,
        )
    return {
        "tasks": [dict(row) for row in rows],
        "total_count": total,
        "has_more": offset + len(rows) < total,
    }


def update(fields, database):
    """Changes the fields that are given. An empty description becomes none."""
    task_id = fields.required_identifier("task_id")
    user_id = fields.required_identifier("user_id")
    given = {
        "title": title_of(fields),
        "description": fields.text("description", most=2000),
        "status": fields.choice("status", STATUSES),
        "priority": fields.number("priority", 1, 5),
        "due_date": fields.instant("due_date"),
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        names = ", ".join(given)
        raise Failure("VALIDATION_ERROR", f"there is nothing to change; give one of {names}")
    updated_fields = list(changes)
    if changes.get("description") == "":
        changes["description"] = None
    updated_at = format_instant(now())
    assignments = ", ".join(f"{name} = :{name}" for name in changes)
    with database.writing():
        check_owner(database, task_id, user_id)
        database.change(
            f"UPDATE tasks SET {assignments}, updated_at = :updated_at WHERE task_id = :task_id",
            task_id=task_id,
            updated_at=updated_at,
            **changes,
        )
    return {"task_id": task_id, "updated_fields": updated_fields, "updated_at": updated_at}


def delete(fields, database):
    task_id = fields.required_identifier("task_id")
    user_id = fields.required_identifier("user_id")
    with database.writing():
        check_owner(database, task_id, user_id)
        database.change("DELETE FROM tasks WHERE task_id = :task_id", task_id=task_id)
    return {"task_id": task_id, "deleted_at": format_instant(now())}


def validate_ownership(fields, database):
    user_id = fields.required_identifier("user_id")
    resource_id = fields.required_identifier("resource_id")
    fields.required("resource_type")
    resource_type = fields.choice("resource_type", ("task",))
    database.user(user_id)
    owner = owner_of(database, resource_id)
    return {
        "is_owner": owner == user_id,
        "resource_type": resource_type,
        "resource_id": resource_id,
    }


def title_of(fields):
    """The title without white space around it; None if none is given."""
    title = fields.text("title", most=200, least=1)
    if title is None:
        return None
    title = title.strip()
    if not title:
        raise invalid("title", "it must not be empty or white space only")
    return title


def owner_of(database, task_id):
    """The user whose task it is. The task must exist."""
    found = database.row("SELECT user_id FROM tasks WHERE task_id = :task_id", task_id=task_id)
    if found is None:
        raise not_found("task", task_id)
    return found["user_id"]


def check_owner(database, task_id, user_id):
    database.user(user_id)
    if owner_of(database, task_id) != user_id:
        raise Failure("UNAUTHORIZED", "the task belongs to another user")
