"""The examples of this program, carried out for a Python client (`mcp`): users, tokens and tasks, what
is denied, and what runs out of time, is cancelled or asked for twice.

    invocations.py ERA DATA JOURNAL PROGRAM ARGUMENT...     over stdio
    invocations.py ERA DATA JOURNAL URL TOKEN OTHER_TOKEN   over HTTP; the tokens are of Orchestrator
                                                            and of TaskAgent

DATA is the data directory of the server, JOURNAL its journal.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import pathlib
import sqlite3
import uuid
from contextlib import asynccontextmanager

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

from journey import check, main, plain

PASSWORD = "correct horse battery"
NOBODY = "00000000-0000-4000-8000-000000000000"


@asynccontextmanager
async def connected(era, target, token=None):
    mode = "auto" if era == "modern" else "legacy"
    if token is None:
        server = StdioServerParameters(command=target[0], args=target[1:])
        async with Client(server, mode=mode) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {token}"}
    async with create_mcp_http_client(headers=headers) as http:
        server = streamable_http_client(target[0], http_client=http)
        async with Client(server, mode=mode) as client:
            yield client


def asker(client):
    """Invokes a skill and returns its whole result."""

    async def ask(skill, payload, agent="Orchestrator", **more):
        arguments = {"name": skill, "input": payload, "invoking_agent": agent, **more}
        result = plain(await client.call_tool("invoke_skill", arguments))
        told = result["structuredContent"]
        if "code" not in told:
            check(f"{skill}: an error is a failure", result.get("isError", False), not told["success"])
        return told

    return ask


def output(told):
    check(f"success of {told.get('skill_name')}: {told}", told.get("success"), True)
    return told["output_payload"]


def failure(told, code):
    check(f"code of {told}", told.get("failure_code"), code)
    check("no output", told["output_payload"], None)
    return told


def expired(data, token):
    """The same token, but of a time that is over."""
    key = (data / "token-key").read_bytes()
    header, claims, _ = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    claims["exp"] = claims["iat"] - 1
    encode = lambda it: base64.urlsafe_b64encode(it).decode().rstrip("=")
    signed = header + "." + encode(json.dumps(claims, separators=(",", ":")).encode())
    return signed + "." + encode(hmac.new(key, signed.encode(), hashlib.sha256).digest())


async def users_and_tokens(ask, data):
    email = f"ada-{uuid.uuid4()}@example.org"
    made = await ask("user_creation", {"email": email, "password": PASSWORD})
    user = output(made)["user_id"]
    check("address of the user", made["output_payload"]["email"], email)
    failure(await ask("user_creation", {"email": email, "password": PASSWORD}), "VALIDATION_ERROR")
    short = failure(await ask("user_creation", {"email": email, "password": "short77"}), "VALIDATION_ERROR")
    check("the password is not repeated", "short77" in json.dumps(short), False)

    wanted = {"user_id": user, "email": email, "scopes": ["tasks"], "expires_in_seconds": 300}
    token = output(await ask("token_generation", wanted))["access_token"]
    failure(await ask("token_generation", {**wanted, "expires_in_seconds": 299}), "VALIDATION_ERROR")
    failure(await ask("token_generation", {**wanted, "email": "eve@example.org"}), "UNAUTHORIZED")
    good = output(await ask("token_validation", {"token": token, "required_scopes": ["tasks"]}))
    check("a token is valid", (good["valid"], good["user_id"]), (True, user))
    for what, wrong in [
        ("an expired token", {"token": expired(data, token)}),
        ("a changed token", {"token": token[:-2] + ("AA" if token[-2:] != "AA" else "BB")}),
        ("a token without the scope", {"token": token, "required_scopes": ["admin"]}),
    ]:
        found = output(await ask("token_validation", wrong))
        check(what, (found["valid"], found["user_id"]), (False, None))
    return user, token


async def tasks(ask, user):
    first = output(await ask("task_creation", {"user_id": user, "title": "Buy tea", "priority": 5}))["task_id"]
    output(await ask("task_creation", {"user_id": user, "title": "Pour tea"}))
    listed = output(await ask("task_retrieval", {"user_id": user}))
    check("tasks of the user", sorted(it["title"] for it in listed["tasks"]), ["Buy tea", "Pour tea"])
    page = output(await ask("task_retrieval", {"user_id": user, "limit": 1}))
    check("a page of them", (len(page["tasks"]), page["total_count"], page["has_more"]), (1, 2, True))
    for wrong in [{"title": " "}, {"title": "x" * 201}, {"priority": 6}, {"title": None}]:
        payload = {"user_id": user, "title": "x", **wrong}
        failure(await ask("task_creation", payload), "VALIDATION_ERROR")
    changed = output(await ask("task_update", {"user_id": user, "task_id": first, "status": "completed"}))
    check("what was changed", changed["updated_fields"], ["status"])

    email = f"eve-{uuid.uuid4()}@example.org"
    eve = output(await ask("user_creation", {"email": email, "password": PASSWORD}))["user_id"]
    theirs = {"user_id": eve, "task_id": first}
    failure(await ask("task_update", {**theirs, "title": "Mine"}), "UNAUTHORIZED")
    failure(await ask("task_deletion", theirs), "UNAUTHORIZED")
    owned = {"resource_type": "task", "resource_id": first}
    check("the owner", output(await ask("ownership_validation", {"user_id": user, **owned}))["is_owner"], True)
    check("no owner", output(await ask("ownership_validation", {"user_id": eve, **owned}))["is_owner"], False)
    failure(await ask("task_deletion", {"user_id": user, "task_id": NOBODY}), "NOT_FOUND")
    failure(await ask("task_creation", {"user_id": NOBODY, "title": "x"}), "NOT_FOUND")
    output(await ask("task_deletion", {"user_id": user, "task_id": first}))
    failure(await ask("task_deletion", {"user_id": user, "task_id": first}), "NOT_FOUND")


async def once(ask, user):
    """The same id again."""
    named = {"invocation_id": str(uuid.uuid4()), "correlation_id": str(uuid.uuid4())}
    payload = {"user_id": user, "title": "Only once"}
    first = await ask("task_creation", payload, **named)
    again = await ask("task_creation", dict(reversed(payload.items())), **named)
    check("a repeated call", again, {**first, "replayed": True})
    other = await ask("task_creation", {**payload, "title": "Twice"}, **named)
    check("another input", other["code"], "invocation_id_reused")
    found = output(await ask("task_retrieval", {"user_id": user}))
    check("it is there once", [it["title"] for it in found["tasks"]].count("Only once"), 1)


async def in_time(client, ask, user, data, is_told):
    """A model that takes longer than anybody waits. `is_told`: whether this client tells the server
    that it gives up. Over HTTP in the legacy era it leaves its request open."""
    command = data / "ai-command"
    command.write_text('["sleep", "60"]')
    payload = {"user_id": user}
    late = failure(await ask("suggestion_generation", payload, timeout_seconds=1), "TIMEOUT")
    check("its state", late["status"], "timeout")
    named = {"invocation_id": str(uuid.uuid4())}
    arguments = {"name": "suggestion_generation", "input": payload, "invoking_agent": "Orchestrator", **named}
    if not is_told:
        arguments["timeout_seconds"] = 3
    try:
        await client.call_tool("invoke_skill", arguments, read_timeout_seconds=1)
        check("a client that gives up", "an answer", "an error")
    except MCPError:
        pass
    # Once it has ended.
    for _ in range(100):
        told = await ask("suggestion_generation", payload, **named)
        if told.get("code") != "invocation_unfinished":
            break
        await asyncio.sleep(0.1)
    code = "INTERNAL_ERROR" if is_told else "TIMEOUT"
    check("its end is recorded", failure(told, code)["replayed"], True)
    command.unlink()
    found = output(await ask("suggestion_generation", {**payload, "count": 2}))
    check("suggestions by rules", (len(found["suggestions"]) <= 2, "degraded" in found), (True, True))


def recorded(journal, secrets):
    """What the journal says of the whole walk."""
    rows = sqlite3.connect(f"file:{journal}?mode=ro", uri=True).execute(
        "SELECT status, count(*) FROM skill_invocations GROUP BY status"
    )
    found = dict(rows.fetchall())
    check(f"every invocation has ended: {found}", set(found), {"completed", "failed", "timeout"})
    for file in pathlib.Path(journal).parent.iterdir():
        held = file.read_bytes()
        check(f"no secret in {file.name}", any(it.encode() in held for it in secrets), False)


async def journey(era, target):
    data, journal, *target = target
    data = pathlib.Path(data)
    tokens = target[1:] if target[0].startswith("http") else [None, None]
    async with connected(era, target, tokens[0]) as client:
        listed = plain(await client.list_tools())["tools"]
        check("the tool", "invoke_skill" in [it["name"] for it in listed])
        ask = asker(client)
        user, token = await users_and_tokens(ask, data)
        await tasks(ask, user)
        await once(ask, user)
        await in_time(client, ask, user, data, is_told=era == "modern" or not tokens[0])
        named = {"invocation_id": str(uuid.uuid4())}
        kept = await ask("task_creation", {"user_id": user, "title": "Kept"}, **named)
        who = failure(await ask("user_creation", {"email": "a@b.c", "password": PASSWORD}, agent="Nobody"), "UNAUTHORIZED")
        reason = "the caller is Orchestrator, not Nobody" if tokens[0] else "Nobody is not among the agents"
        check("why", reason in who["failure_message"])
    async with connected(era, target, tokens[1]) as client:
        ask = asker(client)
        if tokens[1]:
            mine = {"user_id": user, "title": "Kept"}
            failure(await ask("task_creation", mine, **named), "UNAUTHORIZED")
            output(await ask("task_creation", mine, agent="TaskAgent"))
            new = {"email": "a@b.c", "password": PASSWORD}
            failure(await ask("user_creation", new, agent="TaskAgent"), "UNAUTHORIZED")
        else:
            # Another server, the same journal.
            again = await ask("task_creation", {"user_id": user, "title": "Kept"}, **named)
            check("after a restart", again, {**kept, "replayed": True})
    recorded(journal, [PASSWORD, token, "short77"])


if __name__ == "__main__":
    main(journey)
