"""The journey with the Python SDK, `mcp`. It has no client for the skills extension."""

import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from journey import asker, check, main, walk


def sender(client):
    return asker({
        "tools/list": lambda p: client.list_tools(),
        "tools/call": lambda p: client.call_tool(p["name"], p["arguments"]),
        "resources/list": lambda p: client.list_resources(),
        "resources/read": lambda p: client.read_resource(p["uri"]),
        "prompts/list": lambda p: client.list_prompts(),
        "prompts/get": lambda p: client.get_prompt(p["name"]),
        "completion/complete": lambda p: client.complete(
            types.ResourceTemplateReference(uri=p["ref"]["uri"]), p["argument"]
        ),
    })


async def journey(era, target):
    server = target[0]
    if not server.startswith("http"):
        server = StdioServerParameters(command=target[0], args=target[1:])
    async with Client(server, mode="auto" if era == "modern" else "legacy") as client:
        check("name of the server", client.server_info.name, "skillbundle")
        await walk(sender(client), era, client.protocol_version)


main(journey)
