// The same calls through other engines and through the booth: who ran what, and who should have.
//
//     TOOLBOOTH_BIN=PROGRAM node main.mjs CASES
//
// Prints a table, and below it the cases that it counts. Fails if the booth has anything but `same`.

import { isSame, parseExact, writeExact } from "./exact.mjs";
import { booth, peer } from "./engines.mjs";
import { questions } from "./questions.mjs";

const VERDICTS = [
  "same",
  "ran when it should refuse",
  "ran with other arguments",
  "refused a recoverable call",
  "no answer",
];

const engines = {
  "AJV 8, coerceTypes": peer("ajv"),
  "pi 1.6.0": peer("pi"),
  "toolbooth, safe": booth(process.env.TOOLBOOTH_BIN, "safe"),
};
const asked = questions(process.argv[2]);
const tables = {};
for (const [name, engine] of Object.entries(engines)) {
  tables[name] = Object.fromEntries(VERDICTS.map((verdict) => [verdict, []]));
  for (const { owed, id, ...question } of asked) {
    const answer = await engine.ask(writeExact(question));
    tables[name][judge(owed, answer)].push(id);
  }
  await engine.end();
}
print(tables);
process.exitCode = tables["toolbooth, safe"].same.length === asked.length ? 0 : 1;

/** The verdict on an answer. */
function judge(owed, { ran, refused }) {
  if (ran === undefined && refused === undefined) {
    return "no answer";
  }
  if (ran === undefined) {
    return owed === null ? "same" : "refused a recoverable call";
  }
  if (owed === null) {
    return "ran when it should refuse";
  }
  return isSame(parseExact(ran), owed) ? "same" : "ran with other arguments";
}

function print(tables) {
  const rows = [["engine", ...VERDICTS]];
  for (const [name, table] of Object.entries(tables)) {
    rows.push([name, ...VERDICTS.map((verdict) => String(table[verdict].length))]);
  }
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(" | ")} |`;
  console.log(`${asked.length} calls of the field cases\n`);
  console.log(line(rows[0]));
  console.log(`|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  rows.slice(1).forEach((row) => console.log(line(row)));
  for (const [name, table] of Object.entries(tables)) {
    for (const verdict of VERDICTS.slice(1).filter((verdict) => table[verdict].length > 0)) {
      console.log(`\n${name}, ${verdict}: ${table[verdict].join(", ")}`);
    }
  }
}
