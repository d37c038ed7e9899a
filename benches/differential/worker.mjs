// A thread for one engine: a pattern that never ends must not take the others with it.

import { parentPort, workerData } from "node:worker_threads";
import { PEERS } from "./peers.mjs";

const run = await PEERS[workerData]();

parentPort.on("message", (question) => {
  try {
    const { tool, arguments: sent } = run(JSON.parse(question));
    parentPort.postMessage({ ran: JSON.stringify({ tool, arguments: sent }) });
  } catch (error) {
    parentPort.postMessage({ refused: String(error) });
  }
});
parentPort.postMessage("ready");
