// A booth to test against: the real program, on a socket and on a TCP port at once.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** The clone: compiled, this file is `tests/ends/node/build/src/booth.js` in it. */
export const REPOSITORY = resolve(import.meta.dirname, "../../../../..");
/** How long a test waits before it fails, in milliseconds: no speed is meant by it. */
export const PATIENCE = 20_000;

/** Where a client connects to. */
export type Listener = "socket" | "tcp";
export const LISTENERS: readonly Listener[] = ["socket", "tcp"];

/** `toolbooth serve` in a folder of its own. */
export class Booth {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly targets: Record<Listener, string>,
  ) {}

  static async start(): Promise<Booth> {
    const folder = mkdtempSync(join(tmpdir(), "toolbooth-ends-"));
    const socket = join(folder, "booth.sock");
    const program = process.env["TOOLBOOTH_BIN"];
    assert.ok(program, "TOOLBOOTH_BIN names the program to test: run `make ends`");
    const contracts = ["examples/contracts", "tests/ends/contracts"].map((path) => join(REPOSITORY, path));
    const listeners = ["--socket", socket, "--tcp", "127.0.0.1:0"];
    const child = spawn(program, ["serve", ...listeners, "--tools", ...contracts], {
      env: { ...process.env, TOOLBOOTH_LOG: "warn" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface(child.stdout!)[Symbol.asyncIterator]();
    const said = [await lines.next(), await lines.next(), await lines.next()].map((line) => line.value);
    const tcp = /^listening on (127\.0\.0\.1:\d+)$/.exec(said[1])?.[1];
    if (tcp === undefined || said[0] !== `listening on unix://${socket}` || said[2] !== "tools: 6 served, 0 quarantined") {
      child.kill("SIGKILL");
      assert.fail(`the booth did not start: ${said.join("\n")}`);
    }
    return new Booth(child, folder, { socket: `unix://${socket}`, tcp });
  }

  /** Ends it as Kubernetes does. It must go at once and clean up, since nothing runs any more. */
  async stop(): Promise<void> {
    const ended = once(this.child, "exit", { signal: AbortSignal.timeout(PATIENCE) });
    this.child.kill("SIGTERM");
    try {
      assert.deepEqual(await ended, [0, null]);
      assert.equal(existsSync(join(this.folder, "booth.sock")), false, "the socket is gone");
    } finally {
      this.child.kill("SIGKILL");
      rmSync(this.folder, { recursive: true });
    }
  }
}
