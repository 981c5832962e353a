"""What every Python client must see, whatever its own shape.

A client is given as a function that takes a method of the protocol with its parameters, and answers
with the result as it is on the wire, or raises `Refused`. `journey.mjs` is the same for Node.
"""

import asyncio
import base64
import json
import os
import pathlib
import sys

from mcp.shared.exceptions import MCPError

FACTS = json.loads((pathlib.Path(__file__).parent / "journey.json").read_text())
SKILLS = pathlib.Path(os.environ.get("SKILLS", "skills"))


class Refused(Exception):
    """An error of the protocol."""

    def __init__(self, code):
        super().__init__(f"error {code}")
        self.code = code


class Failed(Exception):
    """A client saw something else than it should."""


checks = 0


def check(what, found, expected=True):
    """Counts a fact, or ends the journey where it is none."""
    global checks
    checks += 1
    if found != expected:
        raise Failed(f"{what}: expected {shortened(expected)}, found {shortened(found)}")


def shortened(value):
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + "..."


def file_of(uri):
    return (SKILLS / FACTS["files"][uri]).read_bytes()


def body_of(uri):
    """A skill's text below its frontmatter."""
    return file_of(uri).decode().split("\n---\n", 1)[1].strip()


async def refusal(ask, method, params):
    try:
        return await ask(method, params)
    except Refused as refused:
        return refused.code


async def walk(ask, era, version):
    """Asks for everything that every client can ask for."""
    check("negotiated version", version, FACTS["versions"][era])
    await tools(ask, era)
    await resources(ask)
    await prompts(ask)


async def tools(ask, era):
    listed = await ask("tools/list", {})
    check("tools", [tool["name"] for tool in listed["tools"]], FACTS["tools"])
    check("schemas of tools", all("inputSchema" in tool for tool in listed["tools"]))
    check("ttlMs only in the modern era", "ttlMs" in listed, era == "modern")

    async def call(name, arguments):
        return await ask("tools/call", {"name": name, "arguments": arguments})

    loaded = await call("skill", {"name": FACTS["skill"]})
    check("text of the skill", body_of(FACTS["uri"]) in loaded["content"][0]["text"])
    check("name of the skill", loaded["_meta"]["skillbundle/about"]["name"], FACTS["skill"])
    check("its text is sent once", loaded.get("structuredContent"), None)
    routed = await call("get_skill", {"context": FACTS["request"]})
    check("get_skill is no error", routed.get("isError", False), False)
    route = json.loads(routed["content"][0]["text"])
    check("get_skill finds the skill", route["skill_path"], FACTS["skill"])
    check("its text", body_of(FACTS["uri"]) in route["content"])
    check("its text is sent once", routed.get("structuredContent"), None)
    found = (await call("skills_search", {"query": FACTS["search"]}))["structuredContent"]
    check("what is searched for", found["results"][0]["meta"]["name"], FACTS["skill"])

    missed = await call("skill", {"name": "no-such-skill"})
    check("a wrong name is an error of the tool", missed.get("isError"))
    check("its code", missed["_meta"]["skillbundle/about"]["code"], "skill_not_found")
    unknown = await refusal(ask, "tools/call", {"name": "no_such_tool", "arguments": {}})
    check("an unknown tool", unknown, -32602)


async def resources(ask):
    listed = (await ask("resources/list", {}))["resources"]
    sizes = {resource["uri"]: resource.get("size") for resource in listed}
    check("size of a resource", sizes.get(FACTS["uri"]), len(file_of(FACTS["uri"])))
    for uri in FACTS["files"]:
        contents = (await ask("resources/read", {"uri": uri}))["contents"][0]
        text, blob = contents.get("text"), contents.get("blob")
        found = base64.b64decode(blob) if text is None else text.encode()
        check(f"bytes of {uri}", found, file_of(uri))
    missed = await refusal(ask, "resources/read", {"uri": "skill://no/such/file"})
    check("an unknown resource", missed, -32602)
    typed = {"name": "path", "value": FACTS["completion"]["typed"]}
    params = {"ref": {"type": "ref/resource", "uri": FACTS["template"]}, "argument": typed}
    completed = (await ask("completion/complete", params))["completion"]["values"]
    check("completion", completed, FACTS["completion"]["values"])


async def prompts(ask):
    listed = (await ask("prompts/list", {}))["prompts"]
    check("a prompt for the skill", FACTS["skill"] in [prompt["name"] for prompt in listed])
    got = await ask("prompts/get", {"name": FACTS["skill"]})
    check("text of the prompt", body_of(FACTS["uri"]) in got["messages"][0]["content"]["text"])


def plain(model):
    """A result of the library as it is on the wire."""
    return model.model_dump(by_alias=True, mode="json", exclude_unset=True)


def asker(methods):
    """Asks by these methods; both Python clients raise the error of the SDK."""

    async def ask(method, params):
        try:
            return plain(await methods[method](params))
        except MCPError as error:
            raise Refused(error.error.code) from error

    return ask


def innermost(error):
    """What went wrong, out of the groups that tasks wrap it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def main(journey):
    """Runs `journey(era, target)`, of which the target is a URL or a command with its words.

    Usage: CLIENT.py modern|legacy URL | COMMAND...
    """
    era, target = sys.argv[1], sys.argv[2:]
    try:
        asyncio.run(asyncio.wait_for(journey(era, target), 60))
    except BaseException as error:  # noqa: BLE001 the library's own errors are findings, too
        error = innermost(error)
        print(f"{type(error).__name__}: {error}")
        sys.exit(1)
    print(f"ok, {checks} checks")
