// How an engine is asked: a promise of `{ ran }`, the text of what it ran, of `{ refused }`, or of `{}` if no answer came.

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { parseExact, writeExact } from "./exact.mjs";

/** After so many milliseconds there is no answer. */
const PATIENCE = 2_000;

/** Another engine, in a thread of its own that is replaced when it hangs. */
export function peer(name) {
  let thread;
  const ask = async (question) => {
    if (thread === undefined) {
      thread = new Worker(new URL("./worker.mjs", import.meta.url), { workerData: name });
      await once(thread, "message");
    }
    thread.postMessage(question);
    const [answer] = await once(thread, "message", { signal: AbortSignal.timeout(PATIENCE) }).catch(() => [{}]);
    if (answer.ran === undefined && answer.refused === undefined) {
      await end();
    }
    return answer;
  };
  const end = async () => {
    await thread?.terminate();
    thread = undefined;
  };
  return { ask, end };
}

/** The booth, as a filter: one process for each question, so that none meets another's tools. */
export function booth(program, profile) {
  const ask = (question) => {
    const { tools, name, text } = parseExact(question);
    const lines = [{ register: { tools } }, { batch: { calls: [{ name, arguments: text }] } }];
    const input = lines.map((line) => `${writeExact(line)}\n`).join("");
    const { stdout, error } = spawnSync(program, ["pipe", "--profile", profile, "--execute", "echo"], {
      input,
      encoding: "utf8",
      timeout: PATIENCE,
    });
    if (error !== undefined) {
      return {};
    }
    const answers = stdout.trim().split("\n").map(parseExact);
    const result = answers.find((answer) => answer.batch !== undefined)?.batch.results[0];
    if (result?.executed !== true) {
      return { refused: result?.text ?? stdout };
    }
    const renamed = result.repairs.filter((repair) => repair.target === "name").at(-1);
    return { ran: writeExact({ tool: renamed?.to ?? result.name, arguments: result.arguments }) };
  };
  return { ask, end: () => {} };
}
