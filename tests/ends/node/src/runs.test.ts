// Whole runs over the socket and over TCP, with default options.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";

import type { ToolExecutionServiceClient } from "../generated/toolbooth/v1/ToolExecutionService.js";
import { Booth, LISTENERS } from "./booth.js";
import { Run, type Tools, call, connect, find, outcome, text } from "./client.js";

const ANALYSIS = {
  name: "first",
  parameters: ["items"],
  summary: "Gives the first item.",
  emptyInputBehavior: null,
  evidence: "return items[0]",
};
const TOOLS: Tools = { add: ({ a, b }) => String(a + b), read_file: ({ path }) => `read ${path}` };

let booth: Booth;
before(async () => {
  booth = await Booth.start();
});
after(() => booth.stop());

for (const listener of LISTENERS) {
  describe(`a run over ${listener}`, () => {
    let client: ToolExecutionServiceClient;
    let run: Run;
    beforeEach(() => {
      client = connect(booth.targets[listener]);
      run = new Run(client);
    });
    afterEach(() => client.close());

    it("goes from a mistake to the accepted submission", async () => {
      const opened = await run.open({ host: "ends/1" });
      assert.equal(opened.protocolVersion, 1);
      assert.match(opened.booth, /^toolbooth/);
      const mistaken = await run.play([call("c1", "submit_analysis", { ...ANALYSIS, evidence: 42 })]);
      assert.equal(find(mistaken, "c1").error?.code, "ERROR_CODE_INVALID_ARGUMENTS");
      assert.equal(mistaken.verdict.toolChoice, "submit_analysis");
      const asked = await run.play([call("c2", "read_file", '{"filePath": "notes.txt"}')], TOOLS);
      const [execute] = asked.executed;
      assert.deepEqual([execute?.callId, execute?.tool, execute?.attempt], ["c2", "read_file", 1]);
      assert.equal(execute?.arguments.toString(), '{"path":"notes.txt"}');
      const read = find(asked, "c2");
      assert.deepEqual([text(read), read.isError, read.executed], ["read notes.txt", false, true]);
      assert.equal(read.rawArguments.toString(), '{"filePath": "notes.txt"}');
      assert.deepEqual(read.repairs.map(({ op, path }) => [op, path]), [["rename_key", "/path"]]);
      assert.equal(asked.verdict.reason, "VERDICT_REASON_NOT_ALL");
      const submitted = await run.play([call("c3", "submit_analysis", ANALYSIS)]);
      assert.equal(submitted.verdict.reason, "VERDICT_REASON_ALL_TERMINATE");
      assert.equal(submitted.verdict.terminate, true);
      const [accepted] = submitted.verdict.accepted;
      assert.deepEqual([accepted?.runId, accepted?.callId], [opened.runId, "c3"]);
      assert.deepEqual(JSON.parse(accepted!.arguments.toString()), ANALYSIS);
      await run.end();
    });

    it("keeps arguments that break the contract from the host", async () => {
      await run.open();
      const calls = [call("good", "add", { a: 1, b: 2 }), call("bad", "add", { a: "one", c: 3 })];
      const played = await run.play(calls, TOOLS);
      assert.deepEqual(played.executed.map(({ callId }) => callId), ["good"]);
      assert.equal(text(find(played, "good")), "3");
      const refused = find(played, "bad");
      assert.deepEqual([refused.isError, refused.executed, refused.arguments.length], [true, false, 0]);
      assert.equal(refused.error?.code, "ERROR_CODE_INVALID_ARGUMENTS");
      assert.equal(refused.error.retry, "RETRY_CLASS_CORRECT");
      const broken = refused.error.violations.map(({ instancePath, property, keyword }) => [instancePath, property, keyword]);
      assert.deepEqual(broken.sort(), [
        ["", "b", "required"],
        ["", "c", "additionalProperties"],
        ["/a", "", "type"],
      ]);
      assert.ok(text(refused).split("\n").includes("  - a: expected number, got string"), text(refused));
      await run.end();
    });

    it("keeps the order of a batch however its calls are answered", async () => {
      await run.open({ delivery: "DELIVERY_BATCH" });
      const indexes = [0, 1, 2, 3];
      run.say({ batchId: "b1", batch: { calls: indexes.map((index) => call(`c${index}`, "add", { a: index, b: 0 })) } });
      const asked = await run.asked(4);
      assert.deepEqual(asked.map(({ index, execute }) => [index, execute?.callId]), indexes.map((index) => [index, `c${index}`]));
      for (const index of [2, 0, 3, 1]) run.say({ batchId: "b1", index, toolOutcome: outcome(`answer ${index}`) });
      const played = await run.rest();
      assert.deepEqual(played.results.map(text), indexes.map((index) => `answer ${index}`));
      assert.deepEqual(played.finished.callIds, ["c0", "c1", "c2", "c3"]);
      assert.deepEqual(played.verdict.blocking, indexes);
      await run.end();
    });

    it("joins arguments in pieces that cut a character in two", async () => {
      await run.open();
      const sent = Buffer.from('{"text":"Zürich 🚋 10 €"}');
      run.say({ batchId: "b1", batchStart: {} });
      run.say({ batchId: "b1", index: 0, callStart: { id: "c1", name: "echo" } });
      for (const byte of sent) run.say({ batchId: "b1", index: 0, argumentsDelta: { data: Buffer.of(byte) } });
      run.say({ batchId: "b1", index: 0, callEnd: {} });
      run.say({ batchId: "b1", batchEnd: { finish: { raw: "tool_calls" } } });
      const result = find(await run.rest(), "c1");
      assert.deepEqual(result.rawArguments, sent);
      assert.equal(text(result), sent.toString());
      await run.end();
    });

    it("passes on a sign of life", async () => {
      await run.open();
      run.say({ batchId: "b1", batch: { calls: [call("c1", "wait", {})] } });
      await run.asked(1);
      run.say({ batchId: "b1", index: 0, toolProgress: { progress: 1, total: 4, message: "a quarter" } });
      const heard = await run.hear("progress");
      assert.deepEqual([heard.batchId, heard.index], ["b1", 0]);
      assert.deepEqual({ ...heard.progress }, { progress: 1, total: 4, message: "a quarter" });
      run.say({ batchId: "b1", index: 0, toolOutcome: outcome("done") });
      assert.equal(text(find(await run.rest(), "c1")), "done");
      await run.end();
    });

    it("takes a cancelled call back from the host, and the others go on", async () => {
      await run.open();
      run.say({ batchId: "b1", batch: { calls: [call("c0", "wait", {}), call("c1", "wait", {})] } });
      await run.asked(2);
      run.say({ batchId: "b1", index: 0, cancel: { reason: "the user left" } });
      const told = [await run.read(), await run.read()];
      const taken = told.find((frame) => frame?.cancelExecution);
      assert.deepEqual([taken?.index, taken?.cancelExecution?.callId], [0, "c0"]);
      const cancelled = told.find((frame) => frame?.callFinished)?.callFinished;
      assert.deepEqual([cancelled?.callId, cancelled?.error?.code], ["c0", "ERROR_CODE_CANCELLED"]);
      // An outcome that comes late changes nothing.
      run.say({ batchId: "b1", index: 0, toolOutcome: outcome("too late") });
      run.say({ batchId: "b1", index: 1, toolOutcome: outcome("in time") });
      const played = await run.rest();
      assert.deepEqual(played.results.map((result) => [result.callId, text(result)]), [["c1", "in time"]]);
      await run.end();
    });

    it("accepts a submission once, repeats its answer, and refuses another", async () => {
      await run.open();
      const first = await run.play([call("c1", "submit_analysis", ANALYSIS)]);
      assert.deepEqual([find(first, "c1").executed, first.verdict.terminate], [true, true]);
      const again = await run.play([call("c2", "submit_analysis", JSON.stringify(ANALYSIS, null, 2))]);
      assert.deepEqual([find(again, "c2").replayed, find(again, "c2").executed], [true, false]);
      assert.equal(text(find(again, "c2")), text(find(first, "c1")));
      const other = await run.play([call("c3", "submit_analysis", { ...ANALYSIS, name: "last" })]);
      assert.equal(find(other, "c3").error?.code, "ERROR_CODE_ALREADY_ACCEPTED");
      assert.equal(other.verdict.terminate, false);
      assert.deepEqual(other.verdict.accepted.map(({ callId }) => callId), ["c1"]);
      await run.end();
    });
  });
}
