// Plays a run with the tool `add` of examples/contracts: node run.js unix:///run/toolbooth/booth.sock

const { join } = require("node:path");
const grpc = require("@grpc/grpc-js");
const { loadSync } = require("@grpc/proto-loader");

const options = { includeDirs: [join(__dirname, "../../proto")], oneofs: true };
const { toolbooth } = grpc.loadPackageDefinition(loadSync("toolbooth/v1/execution.proto", options));

// What a model says: a call that breaks the contract and, once it has read the error, a call that satisfies it.
const turns = ['{"a": "one", "b": 2}', '{"a": 1, "b": 2}'];

const client = new toolbooth.v1.ToolExecutionService(process.argv[2], grpc.credentials.createInsecure());
const run = client.run();
run.write({ open: {} });
run.on("data", ({ frame, index, execute, callFinished }) => {
  if (frame === "execute") {
    const { a, b } = JSON.parse(execute.arguments);
    run.write({ index, toolOutcome: { content: [{ text: String(a + b) }] } });
  } else if (frame === "callFinished") {
    console.log(callFinished.content[0].text);
  } else if (turns.length > 0 && (frame === "opened" || frame === "batchFinished")) {
    run.write({ batch: { calls: [{ name: "add", arguments: Buffer.from(turns.shift()) }] } });
  } else if (frame === "batchFinished") {
    run.end();
  }
});
run.on("end", () => client.close());
