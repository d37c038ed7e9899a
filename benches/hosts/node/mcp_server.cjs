// The tool of the benchmarks, as an MCP server over stdio.
"use strict";

const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = require("@modelcontextprotocol/sdk/server/stdio.js");
const { z } = require("zod");

const server = new McpServer({ name: "bench", version: "1" });

server.registerTool(
  "report_bug",
  {
    description: "File a bug report, and notify the people who watch the labels.",
    inputSchema: {
      title: z.string().min(1).max(120),
      body: z.string().max(4000),
      labels: z.array(z.string()).max(10),
      priority: z.number().int().min(1).max(5),
      assignee: z.string().nullable().optional(),
      notify: z.boolean().optional(),
    },
  },
  async (report) => ({ content: [{ type: "text", text: JSON.stringify(report) }] }),
);

server.connect(new StdioServerTransport());
