// What is asked of each engine, from the field cases: a call, and what profile `safe` owes.

import { readFileSync } from "node:fs";
import { parseExact, writeExact } from "./exact.mjs";

/** The questions of a file of cases, one a line. */
export function questions(file) {
  const cases = readFileSync(file, "utf8").trim().split("\n").map(parseExact);
  return cases.flatMap((one) => ASK[one.stage]?.(one) ?? []);
}

/** A refusal is owed as `null`; anything else as the tool that runs and its arguments. */
const ASK = {
  args: ({ id, tool, shim, defaults, call, expected_coerce: owed }) => [
    {
      id,
      tools: [withRules(tool, shim, defaults)],
      name: call.name,
      text: call.raw,
      owed: owed.outcome === "error" ? null : { tool: tool.name, arguments: owed.args },
    },
  ],
  resolve: ({ id, input, expected_coerce: owed }) => [
    {
      id,
      tools: input.tools.map((name) => ({ name, parameters: { type: "object" } })),
      name: input.called,
      text: "{}",
      owed: owed.outcome === "error" ? null : { tool: owed.tool, arguments: {} },
    },
  ],
  // A schema shows what it is worth by the calls that it lets through: its probes, or where it has none, an empty object.
  registration: ({ id, input: { tool }, expected_coerce: owed }) =>
    (owed.probe ?? [{ args: {}, valid: owed.outcome !== "quarantined" }]).map((probe, at) => ({
      id: owed.probe === undefined ? id : `${id}/${at + 1}`,
      tools: [tool],
      name: tool.name,
      text: writeExact(probe.args),
      owed: probe.valid === false ? null : { tool: tool.name, arguments: probe.delivered ?? probe.args },
    })),
};

/** What the contract says beside the schema. The other engines have no place for it. */
function withRules(tool, shim, defaults) {
  const rename = Object.entries(shim?.rename ?? {});
  return {
    ...tool,
    ...(rename.length > 0 && { prepare: rename.map(([from, to]) => ({ rename: { from: `/${from}`, to: `/${to}` } })) }),
    ...(defaults && { arguments: { defaults: true } }),
  };
}
