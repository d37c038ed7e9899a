// The other engines. Each reads the model's text itself, and either runs the tool with some arguments or throws.

/** A tool of exactly this name. */
function named(tools, name) {
  const tool = tools.find((tool) => tool.name === name);
  if (tool === undefined) {
    throw new Error(`no tool ${name}`);
  }
  return tool;
}

/** AJV 8 as tool runtimes set it up to be lenient, in the dialect of the schema. */
async function ajv() {
  const [{ Ajv }, { Ajv2020 }, { default: formats }] = await Promise.all([
    import("ajv"),
    import("ajv/dist/2020.js"),
    import("ajv-formats"),
  ]);
  const options = { coerceTypes: true, allErrors: true, strict: false, logger: false };
  return ({ tools, name, text }) => {
    const { parameters } = named(tools, name);
    const isOld = /draft-0[67]/.test(parameters.$schema ?? "");
    const validate = formats(isOld ? new Ajv(options) : new Ajv2020(options)).compile(parameters);
    // Coercion at the root needs a place to write to.
    const held = { arguments: JSON.parse(text) };
    if (!validate(held.arguments, { parentData: held, parentDataProperty: "arguments" })) {
      throw new Error("refused");
    }
    return { tool: name, arguments: held.arguments };
  };
}

/** pi 1.6.0. */
async function pi() {
  const [{ validateToolCall }, { parseToolCallArguments }] = await Promise.all([
    import("@earendil-works/pi-ai/utils/validation"),
    import("@earendil-works/pi-ai/utils/json-parse"),
  ]);
  return ({ tools, name, text }) => {
    const call = { name, ...parseToolCallArguments(text) };
    return { tool: name, arguments: validateToolCall(tools, call) };
  };
}

export const PEERS = { ajv, pi };
