"""The journey with FastMCP, and its client for the skills extension, which verifies digests.

It speaks the extension in the modern era only, and does not read directories.
"""

import fastmcp
import mcp_types as types
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.skills.client import SkillsClientExtension

from journey import FACTS, asker, check, file_of, main, plain, walk


def sender(client):
    return asker({
        "tools/list": lambda p: client.list_tools_mcp(),
        "tools/call": lambda p: client.call_tool_mcp(p["name"], p["arguments"]),
        "resources/list": lambda p: client.list_resources_mcp(),
        "resources/read": lambda p: client.read_resource_mcp(p["uri"]),
        "prompts/list": lambda p: client.list_prompts_mcp(),
        "prompts/get": lambda p: client.get_prompt_mcp(p["name"]),
        "completion/complete": lambda p: client.complete_mcp(
            types.ResourceTemplateReference(uri=p["ref"]["uri"]), p["argument"]
        ),
    })


async def skills(client):
    listed = await client.list_skills()
    resources = [str(resource.uri) for resource in await client.list_resources()]
    check("skills and resources", sorted(str(skill.uri) for skill in listed), sorted(resources))
    for skill in listed:
        got = await client.get_skill(str(skill.uri))
        check("skills/get", plain(got), plain(skill))
        # Raises where a size, a digest or the frontmatter is not what the manifest says.
        read = await client.read_skill(str(skill.uri))
        check(f"files of {skill.uri}", len(read.files), len(skill.resources))
    read = await client.read_skill(FACTS["uri"])
    check("bytes of a verified file", read.files["SKILL.md"], file_of(FACTS["uri"]))


async def journey(era, target):
    if target[0].startswith("http"):
        transport = StreamableHttpTransport(target[0])
    else:
        transport = StdioTransport(command=target[0], args=target[1:])
    mode = "auto" if era == "modern" else "legacy"
    async with fastmcp.Client(transport, mode=mode, extensions=[SkillsClientExtension()]) as client:
        await walk(sender(client), era, client.protocol_version)
        if era == "modern":
            await skills(client)


main(journey)
