"""The Python MCP SDK against the real server over stdio; runs under mcp 1.x and 2.x.

MCP_BIN is the server, NOTES a SQLite file with the table `note` of scripts/clients. Says what it did on stderr, exits
non-zero at the first answer that is not as it should be.
"""

import asyncio
import os
import sys
from importlib.metadata import version

import mcp
from mcp import ClientSession, StdioServerParameters, stdio_client

SDK = version("mcp")


def plain(model):
    """An answer as it was on the wire, whatever the SDK calls its attributes."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def text_of(answer):
    return "\n".join(block["text"] for block in answer["content"] if block["type"] == "text")


def check(condition, what, answer):
    if not condition:
        raise AssertionError(f"{what}; the answer: {answer}")


def server(**settings):
    return StdioServerParameters(
        command=os.environ["MCP_BIN"],
        env={"RHIZODAT_STORE_NOTES": f"sqlite://{os.environ['NOTES']}", **settings},
    )


async def conversation(client, structured):
    tools = plain(await client.list_tools())["tools"]
    names = {tool["name"] for tool in tools}
    check({"stores", "schema", "query"} <= names, "`stores`, `schema` and `query` are to be listed", tools)
    for tool in tools:
        check(tool["inputSchema"].get("type") == "object", f"`{tool['name']}` takes an object", tool)
        check(tool.get("annotations", {}).get("readOnlyHint") is True, f"`{tool['name']}` is to say that it only reads", tool)
        # clients refuse structured content that is declared and does not come, and the other way round
        check(("outputSchema" in tool) == structured, f"`{tool['name']}` declares its output when it is structured, only", tool)

    async def call(tool, arguments, error=False):
        answer = plain(await client.call_tool(tool, arguments))
        check(answer.get("isError", False) is error, f"`{tool}` with {arguments} is to {'fail' if error else 'succeed'}", answer)
        if not error:
            check(("structuredContent" in answer) == structured, f"`{tool}`: structured content when asked for, only", answer)
            check("<database-content-" in text_of(answer), f"`{tool}`: the data is fenced", answer)
        return answer

    answer = await call("stores", {})
    for word in ("notes", "sqlite", "up"):
        check(word in text_of(answer), f"`stores` is to tell of `{word}`", answer)
    if structured:
        check([store["name"] for store in answer["structuredContent"]["stores"]] == ["notes"], "one store, `notes`", answer)

    for arguments in ({"store": "notes"}, {"store": "notes", "table": "note", "detail": "full"}, {"store": "notes", "like": "no*"}):
        answer = await call("schema", arguments)
        for word in ("note", "title", "price"):
            check(word in text_of(answer), f"`schema` is to tell of `{word}`", answer)

    answer = await call("query", {"store": "notes", "query": "select id, title, price from note order by id"})
    check("zweitens: größer" in text_of(answer), "the rows come as they are", answer)
    if structured:
        content = answer["structuredContent"]
        check([column["name"] for column in content["columns"]] == ["id", "title", "price"], "the columns", answer)
        check([row[:2] for row in content["rows"]] == [[1, "first"], [2, "zweitens: größer"], [3, "third"]], "the rows", answer)
        check(content["rows"][2][2] is None, "a null is a null", answer)
        check(content["row_count"] == 3 and content["truncated"] is False, "nothing is cut off", answer)

    answer = await call("query", {"store": "notes", "query": "select title from note where id = ?1", "params": [3], "limit": 5})
    check("third" in text_of(answer) and "first" not in text_of(answer), "a parameter counts", answer)

    answer = await call("query", {"store": "notes", "query": "select id from note order by id", "limit": 2})
    check("rows" in text_of(answer), "what was cut off is said", answer)
    if structured:
        check(answer["structuredContent"]["truncated"] == "rows", "what was cut off is said", answer)
        check(answer["structuredContent"]["rows"] == [[1], [2]], "as many rows as were asked for", answer)

    for arguments in (
        {"store": "notes", "query": "delete from note"},
        {"store": "notes", "query": "select 1; drop table note"},
        {"store": "nowhere", "query": "select 1"},
        {"store": "notes", "query": "select nothing from note"},
    ):
        answer = await call("query", arguments, error=True)
        first = text_of(answer).splitlines()[0]
        check(first.startswith("error: ") and first.count(":") >= 2, "an error has a code", answer)
        check("hint: " in text_of(answer), "an error has a hint", answer)

    answers = await asyncio.gather(
        *(client.call_tool("query", {"store": "notes", "query": f"select {n} * 1000003 as n"}) for n in range(1, 33))
    )
    for n, answer in enumerate(map(plain, answers), start=1):
        check(str(n * 1000003) in text_of(answer), "32 calls at once, each its own answer", answer)


async def with_session(structured, **settings):
    """The plain session, which both majors have: `initialize` and so on."""
    async with stdio_client(server(**settings)) as (read, write), ClientSession(read, write) as session:
        hello = plain(await session.initialize())
        check(hello["serverInfo"]["name"], "the server has a name", hello)
        check("tools" in hello["capabilities"], "the server has tools", hello)
        await conversation(session, structured)
        return hello["protocolVersion"]


async def with_client(mode, structured, **settings):
    """The client of 2.x, which also speaks without `initialize`."""
    async with mcp.Client(server(**settings), mode=mode) as client:
        await conversation(client, structured)
        return client.protocol_version


async def main():
    for structured in (False, True):
        settings = {"RHIZODAT_MCP_STRUCTURED": "1"} if structured else {}
        runs = {"session": lambda: with_session(structured, **settings)}
        if hasattr(mcp, "Client"):
            for mode in ("legacy", "auto", "2026-07-28"):
                runs[f"client, {mode}"] = lambda mode=mode: with_client(mode, structured, **settings)
        for name, run in runs.items():
            name = f"python mcp {SDK}, {name}{', structured' if structured else ''}"
            try:
                spoken = await asyncio.wait_for(run(), 30)
            except BaseException as problem:
                while isinstance(problem, BaseExceptionGroup):  # the SDK's task groups wrap everything
                    problem = problem.exceptions[0]
                print(f"error: {name}: {type(problem).__name__}: {problem}", file=sys.stderr)
                return 1
            print(f"{name}: {spoken}", file=sys.stderr)
    return 0


sys.exit(asyncio.run(main()))
