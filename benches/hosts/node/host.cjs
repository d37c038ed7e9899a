// A Node host: the same call through the booth and through an MCP server, in turns.
//
//     node host.cjs SOCKET TOOL ARGUMENTS ROUNDS PROTOS
//
// Prints one JSON object: for each way, the median time of each round in microseconds.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");

const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const CALLS_A_ROUND = 1000;

// One run over one stream; gives a function that makes one call and waits for the end of its batch.
async function openRun(socket, protos, tool, args) {
  const definition = loader.loadSync("toolbooth/v1/execution.proto", { includeDirs: [protos], defaults: true });
  const service = grpc.loadPackageDefinition(definition).toolbooth.v1.ToolExecutionService;
  const client = new service(`unix://${socket}`, grpc.credentials.createInsecure());
  const stream = client.run();
  let heard;
  stream.on("data", (response) => heard(response));
  const opened = new Promise((resolve) => (heard = resolve));
  stream.write({ open: { delivery: "DELIVERY_BATCH" } });
  assert.ok((await opened).opened);

  const call = () =>
    new Promise((resolve, reject) => {
      let results = [];
      heard = (response) => {
        if (response.batchResults) results = results.concat(response.batchResults.results);
        if (!response.batchFinished) return;
        if (results.length === 1 && !results[0].isError) resolve();
        else reject(new Error(`not one good result: ${JSON.stringify(results)}`));
      };
      stream.write({ batch: { calls: [{ id: "c0", name: tool, arguments: args }] } });
    });
  return { call, close: () => (stream.end(), client.close()) };
}

async function openMcp(args) {
  const client = new Client({ name: "bench", version: "1" });
  const server = path.join(__dirname, "mcp_server.cjs");
  // The child finds its modules as this process does.
  const env = { ...process.env };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [server], env }));
  const call = async () => {
    const result = await client.callTool({ name: "report_bug", arguments: JSON.parse(args) });
    assert.ok(!result.isError, JSON.stringify(result));
  };
  return { call, close: () => client.close() };
}

async function medianTime(call, count) {
  const times = [];
  for (let number = 0; number < count; number++) {
    const start = process.hrtime.bigint();
    await call();
    times.push(Number(process.hrtime.bigint() - start) / 1000);
  }
  return times.sort((left, right) => left - right)[Math.floor(count / 2)];
}

async function main(socket, tool, file, rounds, protos) {
  const args = Buffer.from(fs.readFileSync(file, "utf8").trim());
  const ways = { booth: await openRun(socket, protos, tool, args), mcp: await openMcp(args) };
  const medians = {};
  for (const [name, way] of Object.entries(ways)) {
    await medianTime(way.call, CALLS_A_ROUND);
    medians[name] = [];
  }
  for (let round = 0; round < rounds; round++) {
    for (const [name, way] of Object.entries(ways)) medians[name].push(await medianTime(way.call, CALLS_A_ROUND));
  }
  console.log(JSON.stringify(medians));
  for (const way of Object.values(ways)) await way.close();
}

const [socket, tool, file, rounds, protos] = process.argv.slice(2);
main(socket, tool, file, Number(rounds), protos).catch((error) => {
  console.error(error);
  process.exit(1);
});
