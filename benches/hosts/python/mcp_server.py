"""The tool of the benchmarks, as an MCP server over stdio. It logs less than by default, which makes it faster."""

import json

from mcp.server import MCPServer

server = MCPServer("bench", log_level="ERROR")


@server.tool(structured_output=False)
def report_bug(
    title: str, body: str, labels: list[str], priority: int, assignee: str | None = None, notify: bool = False
) -> str:
    """File a bug report, and notify the people who watch the labels."""
    report = {"title": title, "body": body, "labels": labels, "priority": priority, "assignee": assignee, "notify": notify}
    return json.dumps(report)


if __name__ == "__main__":
    server.run("stdio")
