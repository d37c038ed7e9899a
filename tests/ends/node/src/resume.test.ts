// Runs that outlive their connection, over the socket and over TCP, with default options.

import assert from "node:assert/strict";
import { status } from "@grpc/grpc-js";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";

import type { ToolExecutionServiceClient } from "../generated/toolbooth/v1/ToolExecutionService.js";
import { Booth, LISTENERS } from "./booth.js";
import { Run, call, connect, find, outcome, text } from "./client.js";
import { Line } from "./line.js";

const KEPT = { resumeGrace: { seconds: 30 }, onDisconnect: "ON_DISCONNECT_KEEP" } as const;
const CALLS = [call("c0", "echo", { text: "a" }), call("c1", "wait", {}), call("c2", "wait", { n: 1 })];

let booth: Booth;
before(async () => {
  booth = await Booth.start();
});
after(() => booth.stop());

for (const listener of LISTENERS) {
  describe(`a host over ${listener}`, () => {
    let line: Line;
    let lost: ToolExecutionServiceClient;
    let found: ToolExecutionServiceClient;
    beforeEach(async () => {
      line = await Line.to(booth.targets[listener]);
      lost = connect(line.target);
      found = connect(booth.targets[listener]);
    });
    afterEach(() => {
      line.cut();
      lost.close();
      found.close();
    });

    it("comes back for the rest of a batch in which its line was cut, and hears old batches again", async () => {
      let run = new Run(lost);
      const { runId, resumeGrace } = await run.open(KEPT);
      assert.equal(resumeGrace?.seconds, "30");
      const counted = [call("c9", "word_count", { text: "one two" })];
      const first = await run.play(counted, {}, "b1");
      run.say({ batchId: "b2", batch: { calls: CALLS } });
      const asked = await run.asked(2);
      assert.deepEqual(asked.map(({ execute }) => execute?.again), [false, false]);
      run.say({ batchId: "b2", index: 1, toolOutcome: outcome("before") });
      while ((await run.read())?.callFinished?.callId !== "c1");
      line.cut();
      await assert.rejects(run.read(), { code: status.UNAVAILABLE });

      run = new Run(found);
      const opened = await run.open({ runId, resume: true });
      assert.deepEqual([opened.resumed, opened.runningBatchId, opened.lastBatchId], [true, "b2", "b1"]);
      const rest = await run.rest({ wait: ({ n }) => `after ${n}` });
      assert.deepEqual(rest.executed.map(({ callId, again }) => [callId, again]), [["c2", true]]);
      assert.equal(rest.executed[0]?.idempotencyKey, asked[1]?.execute?.idempotencyKey);
      assert.deepEqual(["c0", "c1", "c2"].map((id) => text(find(rest, id))), ['{"text":"a"}', "before", "after 1"]);
      assert.deepEqual(rest.finished.callIds, ["c0", "c1", "c2"]);

      const again = await run.play(counted, {}, "b1");
      const [original, replayed] = [find(first, "c9"), find(again, "c9")];
      assert.deepEqual([original.executed, original.replayed], [true, false]);
      assert.deepEqual([replayed.executed, replayed.replayed, text(replayed)], [false, true, text(original)]);
      const rerun = await run.play(CALLS, {}, "b2");
      assert.deepEqual([rerun.executed, rerun.results.map((result) => result.replayed)], [[], [true, true, true]]);
      await run.end();
    });

    it("takes over a run that another stream leads, and that one is told", async () => {
      const led = new Run(lost);
      const { runId } = await led.open(KEPT);
      led.say({ batchId: "b1", batch: { calls: CALLS.slice(1, 2) } });
      await led.asked(1);
      const leads = new Run(found);
      assert.equal((await leads.open({ runId, resume: true })).runningBatchId, "b1");
      await assert.rejects(led.read(), { code: status.ABORTED });
      const rest = await leads.rest({ wait: () => "led" });
      assert.equal(text(find(rest, "c1")), "led");
      await leads.end();
    });
  });
}
