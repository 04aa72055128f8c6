/**
 * k-ary randomized response in the respondent's browser, written from docs/client.md alone.
 *
 *     import { readDesign, privatize, encode } from "./rrstats.mjs";
 *
 *     const design = readDesign(text);              // JSON text: {"mechanism": ..., "fingerprint": ...}
 *     const report = privatize("often", design);    // the code of a category; call it once an answer
 *     send(encode(report, design));                 // "rr1.4d02246957e5fa49.02"
 *
 * No dependencies. Every random word is fresh from crypto.getRandomValues, all arithmetic is on whole
 * numbers, and the report has exactly the published distribution. Copy this file beside your page.
 * MIT licence, like rrstats.
 */

// -- exact numbers --------------------------------------------------------------------------

/**
 * Parse JSON without rounding: a number without point and exponent becomes a BigInt, any other a Number.
 * JSON.parse makes one number of 1 and 1.0, and rounds whole numbers above 2^53.
 */
export function parseExactly(text) {
  JSON.parse(text); // refuses what is no JSON, so that the pattern below meets sound tokens only
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? `"s${token.slice(1)}` : `"n${token}"`,
  );
  return unmarked(JSON.parse(marked));
}

function unmarked(value) {
  if (typeof value === "string") {
    const rest = value.slice(1);
    if (value.startsWith("s")) return rest;
    return /[.eE]/.test(rest) ? Number(rest) : BigInt(rest);
  }
  if (Array.isArray(value)) return value.map(unmarked);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name.slice(1), unmarked(one)]));
}

/** The rational number [numerator, denominator] that a Number, a BigInt or a text such as "2/3" is. */
export function exact(value) {
  if (typeof value === "bigint") return [value, 1n];
  if (typeof value === "number" && Number.isFinite(value)) {
    let exponent = 0; // a double times a power of two is whole, and no step of this loop rounds
    while (!Number.isInteger(value)) {
      value *= 2;
      exponent += 1;
    }
    return reduced(BigInt(value), 1n << BigInt(exponent));
  }
  const parts = typeof value === "string" && /^(-?\d+)(?:\/(\d+))?$/.exec(value);
  if (!parts || /^0+$/.test(parts[2] ?? "1")) throw new TypeError("a number must be finite, or a text such as 2/3");
  return reduced(BigInt(parts[1]), BigInt(parts[2] ?? 1));
}

function reduced(numerator, denominator) {
  let [a, b] = [numerator < 0n ? -numerator : numerator, denominator];
  while (b) [a, b] = [b, a % b];
  return [numerator / a, denominator / a];
}

// -- words and the three primitives -----------------------------------------------------------

/** The system's cryptographic generator: each word is drawn when it is asked for, and used once. */
export const freshWords = {
  take(_stream, _round, bits) {
    const bytes = crypto.getRandomValues(new Uint8Array(bits / 8));
    return bytes.reduce((word, byte) => (word << 8n) | BigInt(byte), 0n);
  },
};

/** True with probability numerator / denominator. */
export function coin(words, stream, [numerator, denominator]) {
  if (numerator <= 0n || numerator >= denominator) return numerator >= denominator;
  for (let round = 0, rest = numerator; rest; round += 1) {
    const shifted = rest << 64n;
    const digit = shifted / denominator;
    rest = shifted % denominator;
    const word = words.take(stream, round, 64);
    if (word !== digit) return word < digit;
  }
  return false;
}

/** 0 .. bound - 1, each with the same probability. */
export function below(words, stream, bound) {
  if (bound === 1) return 0;
  const n = BigInt(bound);
  const fits = (bits) => n <= 1n << bits && (1n << bits) % n <= 1n << (bits - 6n);
  const bits = fits(8n) ? 8 : fits(16n) ? 16 : 32;
  const length = (1n << BigInt(bits)) / n;
  for (let round = 0; ; round += 1) {
    const word = words.take(stream, round, bits);
    if (word < length * n) return Number(word / length);
  }
}

/** The cell of a uniform number in [0, 1), between increasing cuts [numerator, denominator]. */
export function cells(words, stream, cuts) {
  let found = 0;
  for (let round = 0, left = cuts; left.length; round += 1) {
    const word = words.take(stream, round, 64);
    const moved = left.map(([numerator, denominator]) => [(numerator << 64n) - word * denominator, denominator]);
    found += moved.filter(([numerator]) => numerator <= 0n).length;
    left = moved.filter(([numerator, denominator]) => 0n < numerator && numerator < denominator);
  }
  return found;
}

// -- labels -----------------------------------------------------------------------------------

const KEYS = {
  str: (text) => (typeof text === "string" ? `s${text}` : undefined),
  int: numberKey,
  float: numberKey,
  bool: (value) => (typeof value === "boolean" ? `b${value}` : undefined),
  bytes: (digits) => (/^([0-9a-f]{2})*$/.test(digits) ? `y${digits}` : undefined),
  date: (day) => (/^\d{4}-\d{2}-\d{2}$/.test(day) ? `d${day}` : undefined),
  missing: () => "m",
  tuple: (items) => {
    const keys = Array.isArray(items) ? items.map(labelKey) : [undefined];
    return keys.includes(undefined) ? undefined : `t${keys.map((key) => `${key.length}:${key}`).join("")}`;
  },
};

/** Numbers are equal where their values are: 1 is 1.0, and -0.0 is 0. */
function numberKey(value) {
  if (value === "inf" || value === Infinity) return "inf";
  if (value === "-inf" || value === -Infinity) return "-inf";
  if (typeof value === "bigint") return `n${value}/1`;
  if (typeof value !== "number") return undefined;
  return Number.isNaN(value) ? "m" : `n${exact(value).join("/")}`;
}

/** Two labels have the same key where they are the same answer; undefined for what is no label. */
function labelKey(label) {
  if (label === null || typeof label !== "object") return undefined;
  const tag = Object.keys(label).find((name) => name !== "label"); // a codebook's label is for readers
  return Object.hasOwn(KEYS, tag ?? "") ? KEYS[tag](label[tag]) : undefined;
}

/** The key of an answer: a tagged label, or a plain string, boolean, number, BigInt, null or undefined. */
function answerKey(answer) {
  switch (typeof answer) {
    case "string":
      return KEYS.str(answer);
    case "boolean":
      return KEYS.bool(answer);
    case "number":
    case "bigint":
      return numberKey(answer);
    default:
      return answer === null || answer === undefined ? "m" : labelKey(answer);
  }
}

// -- a design, a report, its text -------------------------------------------------------------

/**
 * Read what the collector gives out: the JSON text of an object with `mechanism` and `fingerprint`.
 * It must be text: an object that JSON.parse made has lost the difference between 1 and 1.0.
 */
export function readDesign(text) {
  if (typeof text !== "string") throw new TypeError("the design must be JSON text, not an object");
  const { mechanism, fingerprint } = parseExactly(text);
  if (mechanism?.type !== "KRR") throw new TypeError("this module draws designs of type KRR only");
  if (!/^[0-9a-f]{16}$/.test(fingerprint)) throw new TypeError("fingerprint must be 16 hexadecimal digits");
  const { categories } = mechanism;
  const codes = new Map(categories.map((label, code) => [labelKey(label), code]));
  const k = categories.length;
  if (k < 2 || codes.size !== k || codes.has(undefined)) {
    throw new TypeError("categories must be two or more different tagged labels");
  }
  const prob = exact(mechanism.prob);
  if (prob[0] * BigInt(k) < prob[1] || prob[0] >= prob[1]) {
    throw new RangeError(`prob must be in [1/${k}, 1) for ${k} categories`);
  }
  return Object.freeze({ categories, codes, fingerprint, k, prob });
}

/**
 * The report of one answer: the code of a category. A missing or unknown answer is replaced by a
 * uniform one, silently. Calling this again for the same answer is a second release.
 * `words` is for test vectors alone.
 */
export function privatize(answer, design, words = freshWords) {
  const { codes, k, prob } = design;
  const replacement = below(words, 65535, k);
  const code = codes.get(answerKey(answer)) ?? replacement;
  const truth = coin(words, 0, prob);
  const shift = k === 2 ? 1 : 1 + below(words, 1, k - 1); // drawn in any case
  return truth ? code : (code + shift) % k;
}

/** The text of a report; all texts of a design are equally long. */
export function encode(report, { fingerprint, k }) {
  if (!Number.isInteger(report) || report < 0 || report >= k) throw new RangeError("report is none of this design");
  const bytes = Math.ceil((k - 1).toString(16).length / 2);
  return `rr1.${fingerprint}.${report.toString(16).padStart(2 * bytes, "0")}`;
}
