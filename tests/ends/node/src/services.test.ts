// What stands beside the `Run` stream: its unary twins, and the example as it is.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import type { ConcludeBatchResponse__Output } from "../generated/toolbooth/v1/ConcludeBatchResponse.js";
import type { ExecuteBatchResponse__Output } from "../generated/toolbooth/v1/ExecuteBatchResponse.js";
import type { ValidateResponse__Output } from "../generated/toolbooth/v1/ValidateResponse.js";
import { Booth, LISTENERS, PATIENCE, REPOSITORY } from "./booth.js";
import { answer, call, connect, deadline, text } from "./client.js";

let booth: Booth;
before(async () => {
  booth = await Booth.start();
});
after(() => booth.stop());

for (const listener of LISTENERS) {
  describe(`a host over ${listener}`, () => {
    it("needs no stream for what asks nothing of it", async () => {
      const client = connect(booth.targets[listener]);
      const calls = [call("c0", "echo", { text: "hi" }), call("c1", "echo", { text: [1, 2] })];
      const request = { open: { runId: "unary" }, batchId: "b1", batch: { calls } };
      const executed = await answer<ExecuteBatchResponse__Output>((done) => client.executeBatch(request, deadline(), done));
      assert.deepEqual([executed.runId, executed.batchId], ["unary", "b1"]);
      assert.deepEqual(executed.results.map((result) => result.executed), [true, false]);
      assert.equal(text(executed.results[0]), '{"text":"hi"}');
      assert.deepEqual(executed.verdict?.blocking, [0, 1]);
      const validated = await answer<ValidateResponse__Output>((done) => client.validate({ calls }, deadline(), done));
      assert.deepEqual(validated.validations.map(({ callId, valid }) => [callId, valid]), [["c0", true], ["c1", false]]);
      assert.equal(validated.validations[1]?.error?.violations[0]?.instancePath, "/text");
      const conclude = { calls: [{ terminate: true }, { terminate: false }] };
      const concluded = await answer<ConcludeBatchResponse__Output>((done) => client.concludeBatch(conclude, deadline(), done));
      assert.deepEqual([concluded.verdict?.reason, concluded.verdict?.blocking], ["VERDICT_REASON_NOT_ALL", [1]]);
      client.close();
    });

    it("plays the example as it stands", async () => {
      const example = join(REPOSITORY, "examples/node/run.js");
      const env = { ...process.env, NODE_PATH: join(REPOSITORY, "tests/ends/node/node_modules") };
      const options = { env, timeout: PATIENCE };
      const { stdout } = await promisify(execFile)(process.execPath, [example, booth.targets[listener]], options);
      const lines = stdout.trimEnd().split("\n");
      assert.deepEqual(lines.slice(0, 2), ['Validation failed for tool "add":', "  - a: expected number, got string"]);
      assert.equal(lines.at(-1), "3");
    });
  });
}
