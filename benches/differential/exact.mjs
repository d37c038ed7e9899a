// JSON with exact numbers: JavaScript's own would round both what is expected and what is compared with it.

/** A number as it was spelled. */
class Exact {
  constructor(spelling) {
    this.spelling = spelling;
  }

  /** The one spelling of its value. */
  get value() {
    const [mantissa, exponent = "0"] = this.spelling.toLowerCase().split("e");
    const [whole, fraction = ""] = mantissa.replace("-", "").split(".");
    const digits = `${whole}${fraction}`.replace(/^0+/, "");
    const significant = digits.replace(/0+$/, "");
    const sign = significant !== "" && this.spelling.startsWith("-") ? "-" : "";
    const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
    return significant === "" ? "0" : `${sign}${significant}e${power}`;
  }
}

/** Parses text whose numbers stay as they are spelled. */
export function parseExact(text) {
  return JSON.parse(text, (_key, value, { source }) => (typeof value === "number" ? new Exact(source) : value));
}

/** Writes it again. */
export function writeExact(value) {
  return JSON.stringify(value, (_key, value) => (value instanceof Exact ? JSON.rawJSON(value.spelling) : value));
}

/** Whether two such values are the same: numbers by their exact value, objects in any order of keys. */
export function isSame(left, right) {
  if (left instanceof Exact || right instanceof Exact) {
    return left instanceof Exact && right instanceof Exact && left.value === right.value;
  }
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    return left === right;
  }
  const keys = Object.keys(left);
  return (
    Array.isArray(left) === Array.isArray(right) &&
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isSame(left[key], right[key]))
  );
}
