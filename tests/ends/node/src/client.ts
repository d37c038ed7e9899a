// A plain client with default options, and the host's end of a `Run` stream.

import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

import type { ProtoGrpcType } from "../generated/execution.js";
import type { BatchFinished__Output } from "../generated/toolbooth/v1/BatchFinished.js";
import type { CallResult__Output } from "../generated/toolbooth/v1/CallResult.js";
import type { Execute__Output } from "../generated/toolbooth/v1/Execute.js";
import type { Open } from "../generated/toolbooth/v1/Open.js";
import type { Opened__Output } from "../generated/toolbooth/v1/Opened.js";
import type { RunRequest } from "../generated/toolbooth/v1/RunRequest.js";
import type { RunResponse__Output } from "../generated/toolbooth/v1/RunResponse.js";
import type { ToolCall } from "../generated/toolbooth/v1/ToolCall.js";
import type { ToolExecutionServiceClient } from "../generated/toolbooth/v1/ToolExecutionService.js";
import type { ToolOutcome } from "../generated/toolbooth/v1/ToolOutcome.js";
import type { Verdict__Output } from "../generated/toolbooth/v1/Verdict.js";
import { PATIENCE, REPOSITORY } from "./booth.js";

// As `npm run generate` names the types.
const definition = loadSync("toolbooth/v1/execution.proto", {
  includeDirs: [join(REPOSITORY, "proto")],
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
});
const { toolbooth } = grpc.loadPackageDefinition(definition) as unknown as ProtoGrpcType;

export function connect(target: string): ToolExecutionServiceClient {
  return new toolbooth.v1.ToolExecutionService(target, grpc.credentials.createInsecure());
}

/** When a call gives up. */
export function deadline(): grpc.CallOptions {
  return { deadline: Date.now() + PATIENCE };
}

/** The host's own functions. */
export type Tools = Record<string, (args: any) => string>;

/** What a batch brought. */
export interface Played {
  executed: Execute__Output[];
  results: CallResult__Output[];
  finished: BatchFinished__Output;
  verdict: Verdict__Output;
}

/** The host's end of a `Run` stream. */
export class Run {
  private readonly stream: grpc.ClientDuplexStream<RunRequest, RunResponse__Output>;
  private readonly frames: AsyncIterator<RunResponse__Output>;
  private readonly status: Promise<grpc.StatusObject[]>;

  constructor(client: ToolExecutionServiceClient) {
    this.stream = client.run(deadline());
    this.status = once(this.stream, "status") as Promise<grpc.StatusObject[]>;
    // Whoever reads hears of an error.
    this.status.catch(() => {});
    this.frames = this.stream[Symbol.asyncIterator]();
  }

  say(request: RunRequest): void {
    this.stream.write(request);
  }

  /** The next frame; nothing at the end of the stream. */
  async read(): Promise<RunResponse__Output | undefined> {
    const next = await this.frames.next();
    return next.done ? undefined : next.value;
  }

  /** The next frame, which must be of this kind. */
  async hear(kind: RunResponse__Output["frame"]): Promise<RunResponse__Output> {
    const frame = await this.read();
    assert.ok(frame, `the stream ended before ${kind}`);
    assert.equal(frame.frame, kind);
    return frame;
  }

  async open(open: Open = {}): Promise<Opened__Output> {
    this.say({ open });
    return (await this.hear("opened")).opened!;
  }

  /** The next so many frames that ask the host to execute a call. */
  async asked(count: number): Promise<RunResponse__Output[]> {
    const asked: RunResponse__Output[] = [];
    while (asked.length < count) {
      const frame = await this.read();
      assert.ok(frame, "the stream ended before the host was asked");
      if (frame.execute) asked.push(frame);
    }
    return asked;
  }

  /** Plays a batch to its end. */
  async play(calls: ToolCall[], tools: Tools = {}, batchId = ""): Promise<Played> {
    this.say({ batchId, batch: { calls } });
    return this.rest(tools);
  }

  /** Plays what is left of the batch. */
  async rest(tools: Tools = {}): Promise<Played> {
    const executed: Execute__Output[] = [];
    const results: CallResult__Output[] = [];
    for (;;) {
      const frame = await this.read();
      assert.ok(frame, "the stream ended before the batch");
      if (frame.execute) {
        executed.push(frame.execute);
        const answer = tools[frame.execute.tool]!(JSON.parse(frame.execute.arguments.toString()));
        this.say({ batchId: frame.batchId, index: frame.index, toolOutcome: outcome(answer) });
      } else if (frame.callFinished) {
        results.push(frame.callFinished);
      } else if (frame.batchResults) {
        results.push(...frame.batchResults.results);
      } else if (frame.batchFinished) {
        return { executed, results, finished: frame.batchFinished, verdict: frame.batchFinished.verdict! };
      }
    }
  }

  /** Half-closes, and sees the booth close the stream cleanly. */
  async end(): Promise<void> {
    this.stream.end();
    assert.equal(await this.read(), undefined);
    const [status] = await this.status;
    assert.equal(status?.code, grpc.status.OK);
  }
}

/** The answer to a unary call. */
export function answer<Response>(call: (done: grpc.requestCallback<Response>) => void): Promise<Response> {
  return new Promise((resolve, reject) => call((error, response) => (response ? resolve(response) : reject(error))));
}

/** A call as the model made it: an object stands for its compact JSON. */
export function call(id: string, name: string, args: string | object): ToolCall {
  return { id, name, arguments: Buffer.from(typeof args === "string" ? args : JSON.stringify(args)) };
}

export function outcome(text: string): ToolOutcome {
  return { content: [{ text }] };
}

/** All that the model reads. */
export function text(result: CallResult__Output | undefined): string {
  return result!.content.map((content) => content.text).join("");
}

export function find(played: Played, id: string): CallResult__Output {
  const result = played.results.find((result) => result.callId === id);
  assert.ok(result, `no result of ${id}`);
  return result;
}
