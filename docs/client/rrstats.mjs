/**
 * Randomized response in the respondent's browser, written from docs/client.md alone: k-ary randomized response,
 * matrices and survey designs, chains, unary encoding and subset selection. Types: rrstats.d.mts.
 *
 *     import { readDesign, privatize, encode } from "./rrstats.mjs";
 *
 *     const design = readDesign(text);              // JSON text: {"mechanism": ..., "fingerprint": ...}
 *     const report = privatize("often", design);    // the code of a report, or bits; call it once an answer
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

const plus = ([a, b], [c, d]) => reduced(a * d + c * b, b * d);
const times = ([a, b], [c, d]) => reduced(a * c, b * d);
const complement = ([a, b]) => [b - a, b]; // 1 - a / b
const difference = ([a, b], [c, d]) => a * d - c * b; // its sign alone has a meaning

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

// -- mechanisms: of each a table of what is drawn, made before an answer is known -----------------

/** Each reads the mechanism; `draw` turns the code of an answer into the code of a report, or into bits. */
const MECHANISMS = {
  KRR({ prob: written, categories }, k) {
    const prob = exact(written);
    if (prob[0] * BigInt(k) < prob[1] || prob[0] >= prob[1]) {
      throw new RangeError(`prob must be in [1/${k}, 1) for ${k} categories`);
    }
    const draw = (code, words) => {
      const truth = coin(words, 0, prob);
      const shift = k === 2 ? 1 : 1 + below(words, 1, k - 1); // drawn in any case
      return truth ? code : (code + shift) % k;
    };
    return { prob, reports: categories, draw };
  },

  MatrixDesign({ matrix, categories, reports }, k) {
    const { cuts, table } = readMatrix(matrix, k);
    const m = matrix.length;
    const labels = reports ?? (m === k ? categories : Array.from(matrix, (_, code) => ({ int: BigInt(code) })));
    if (labels.length !== m) throw new TypeError("reports must have one label for each row of the matrix");
    return { reports: labels, draw: (code, words) => table[cells(words, 0, cuts)][code] };
  },

  UnaryEncoding: ({ prob_own, prob_other }, k) => unary(exact(prob_own), exact(prob_other), k),
  SymmetricUnary: ({ prob }, k) => unary(exact(prob), complement(exact(prob)), k),
  OptimizedUnary: ({ prob_other }, k) => unary([1n, 2n], exact(prob_other), k),

  Rappor({ f, p, q }, k) {
    const flips = exact(f);
    if (flips[0] < 0n || flips[0] > flips[1]) throw new RangeError("f must be in [0, 1]");
    const kept = nearestDouble(complement(times(flips, [1n, 2n])));
    const lost = complement(kept);
    const own = plus(times(kept, exact(q)), times(lost, exact(p)));
    return unary(own, plus(times(lost, exact(q)), times(kept, exact(p))), k);
  },

  SubsetSelection({ size: written, prob_own }, k) {
    const own = exact(prob_own);
    const size = Number(written);
    if (own[0] <= 0n || own[0] >= own[1]) throw new RangeError("prob_own must be in (0, 1)");
    if (!Number.isInteger(size) || size < 1 || size >= k) throw new RangeError(`size must be in 1..${k - 1}`);
    const draw = (code, words) => {
      const ownBit = coin(words, 0, own);
      const others = subset(words, k - 1, ownBit ? size - 1 : size);
      return packed([...others.slice(0, code), ownBit, ...others.slice(code)]);
    };
    return { bits: k, draw };
  },

  Chain({ first, second }) {
    const [before, after] = [drawing(first), drawing(second)];
    if (before.reports?.length !== after.k) {
      throw new TypeError("second must have one category for each report of first");
    }
    const { reports, bits } = after;
    const draw = (code, words) => after.draw(before.draw(code, words), moved(words, before.rounds));
    return { reports, bits, draw, rounds: before.rounds + after.rounds };
  },

  Samples({ groups, parts }, _k, group) {
    const sample = groups.findIndex((label) => labelKey(label) === answerKey(group));
    if (sample < 0) throw new RangeError("group must be the label of one of the samples of this design");
    const drawings = parts.map((part) => drawing(part));
    const earlier = drawings.slice(0, sample).reduce((rounds, part) => rounds + part.rounds, 0);
    const draw = (code, words) => drawings[sample].draw(code, moved(words, earlier));
    return { reports: drawings[0].reports, bits: drawings[0].bits, draw };
  },
};

/** What a mechanism draws, and its categories; a chain has several rounds, each with streams of its own. */
function drawing(mechanism, group) {
  if (!Object.hasOwn(MECHANISMS, mechanism?.type ?? "")) {
    throw new TypeError(`this module draws designs of type ${Object.keys(MECHANISMS).join(", ")} and SurveyDesign only`);
  }
  const { type } = mechanism;
  const categories = classes(mechanism);
  const codes = new Map(categories?.map((label, code) => [labelKey(label), code]));
  const k = codes.size;
  if (k < 2 || categories.length !== k || codes.has(undefined)) {
    throw new TypeError("categories must be two or more different tagged labels");
  }
  return { type, categories, codes, k, rounds: 1, ...MECHANISMS[type](mechanism, k, group) };
}

/** The labels of the true answers. */
function classes({ type, first, parts, categories }) {
  if (type === "Chain") return classes(first);
  return type === "Samples" ? classes(parts[0]) : categories;
}

const moved = (words, rounds) => ({ take: (stream, round, bits) => words.take(stream + 16 * rounds, round, bits) });

/** The cuts of all columns, and the report of each (cell, answer). */
function readMatrix(matrix, k) {
  const isMatrix = Array.isArray(matrix) && matrix.length > 1;
  if (!isMatrix || matrix.some((row) => row.length !== k)) {
    throw new TypeError(`matrix must have two or more rows, one number for each of ${k} categories in each`);
  }
  const columns = Array.from({ length: k }, (_, answer) => sums(matrix.map((row) => exact(row[answer]))));
  const inside = columns.flat().filter(([top, bottom]) => 0n < top && top < bottom);
  const different = new Map(inside.map((cut) => [cut.join("/"), cut])); // reduced: equal ones are written alike
  const cuts = [...different.values()].sort((one, other) => (difference(one, other) < 0n ? -1 : 1));
  const reportAt = (edge, column) => column.slice(0, -1).filter((top) => difference(top, edge) <= 0n).length;
  const table = [[0n, 1n], ...cuts].map((edge) => columns.map((column) => reportAt(edge, column)));
  return { cuts, table };
}

/** The sums of the first 1, 2, ... entries of a column, divided by the sum of all. */
function sums(entries) {
  if (entries.some(([top]) => top < 0n)) throw new RangeError("entries of the matrix must not be negative");
  let total = [0n, 1n];
  const tops = entries.map((entry) => (total = plus(total, entry)));
  const [top, bottom] = total;
  const gap = top < bottom ? bottom - top : top - bottom;
  if (gap * 10n ** 9n > bottom) throw new RangeError("each column of the matrix must sum to 1 within 1e-9");
  return tops.map((sum) => times(sum, [bottom, top]));
}

/** The double nearest to a number of [1/2, 1], ties to even: a multiple of 2^-53. */
function nearestDouble([numerator, denominator]) {
  const scaled = numerator << 53n;
  const floor = scaled / denominator;
  const twice = 2n * (scaled % denominator);
  const up = twice > denominator || (twice === denominator && floor % 2n === 1n);
  return reduced(up ? floor + 1n : floor, 1n << 53n);
}

/** The answer's bit is 1 with probability `own`, each other one with probability `other`. */
function unary(own, other, k) {
  if (other[0] <= 0n || difference(other, own) > 0n || own[0] >= own[1]) {
    throw new RangeError("the bits must have probabilities 0 < other <= own < 1");
  }
  const bytes = Math.ceil(k / 8);
  const sizes = [...Array(Math.floor(bytes / 8)).fill(64), ...[32, 16, 8].filter((bits) => bytes & (bits / 8))];
  const draw = (code, words) => {
    const ownBit = coin(words, 0, own);
    const bits = sizes.flatMap((size, column) => unaryColumn(words, other, column, sizes.length, size)).slice(0, k);
    bits[code] = ownBit;
    return packed(bits);
  };
  return { bits: k, draw };
}

/** Bits, each 1 with a probability, from one word for each binary digit of the probability. */
function unaryColumn(words, [numerator, denominator], column, columns, size) {
  const full = (1n << BigInt(size)) - 1n;
  let [decided, value, rest] = [0n, 0n, numerator];
  for (let round = 0, turn = 64n; rest && decided !== full; turn = 8n) {
    const digits = (rest << turn) / denominator;
    rest = (rest << turn) % denominator;
    const listed = digits.toString(2).padStart(Number(turn), "0");
    for (const digit of rest ? listed : listed.replace(/0+$/, "")) {
      const word = words.take(1, round * columns + column, size);
      const agreeing = (digit === "1" ? word : full - word) & (full - decided);
      if (digit === "1") value |= agreeing;
      decided |= agreeing;
      round += 1;
    }
  }
  return Array.from({ length: size }, (_, bit) => ((value >> BigInt(bit)) & 1n) === 1n);
}

/** Which of n others are among the `left` that are named, in the order of their bits. */
function subset(words, n, left) {
  const taken = [];
  for (let place = 0; place < n; place += 1) {
    const isTaken = subsetCoin(words, place, n, left);
    taken.push(isTaken);
    left -= Number(isTaken);
  }
  // Of each eight, or of the last few, the first coin is that of the last category.
  return taken.flatMap((_, place) => (place % 8 ? [] : taken.slice(place, place + 8).reverse()));
}

function subsetCoin(words, place, n, left) {
  const come = BigInt(n - place);
  if (come === 1n) return left === 1;
  const width = Math.min(n, 4096);
  let rest = BigInt(left);
  for (let round = 0, bits = 64; ; round += 1, bits = 32) {
    const digit = (rest << BigInt(bits)) / come;
    rest = (rest << BigInt(bits)) % come;
    const word = words.take(1 + Math.floor(place / 4096), round * width + (place % 4096), bits);
    if (word !== digit || !rest) return word < digit;
  }
}

/** Bits in bytes: bit y is bit y mod 8, the lowest first, of byte floor(y / 8). */
function packed(bits) {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  bits.forEach((bit, place) => (bytes[place >> 3] |= Number(bit) << (place & 7)));
  return bytes;
}

// -- a design, a report, its text -------------------------------------------------------------

/**
 * Read what the collector gives out: the JSON text of an object with `mechanism` and `fingerprint`, and where there
 * are survey designs `drawn_as`, with their matrices. It must be text: an object that JSON.parse made has lost the
 * difference between 1 and 1.0. `group` is the label of the respondent's sample, where a design has several.
 */
export function readDesign(text, group) {
  if (typeof text !== "string") throw new TypeError("the design must be JSON text, not an object");
  const { mechanism, drawn_as: matrices, fingerprint } = parseExactly(text);
  if (mechanism?.type === "SurveyDesign" && matrices === undefined) {
    throw new TypeError("a survey design needs its matrix: drawn_as must be of type MatrixDesign");
  }
  const drawn = matrices ?? mechanism;
  if (group !== undefined && drawn?.type !== "Samples") throw new TypeError("group is for designs with several samples");
  if (!/^[0-9a-f]{16}$/.test(fingerprint)) throw new TypeError("fingerprint must be 16 hexadecimal digits");
  return Object.freeze({ fingerprint, ...drawing(drawn, group) });
}

/**
 * The report of one answer: the code of a report along `design.reports`, or, where a report has no label, k bits in
 * a Uint8Array. An answer that is missing or no category is refused; with `unknown: "uniform"` it is replaced by a
 * random category, silently. Calling this again for the same answer is a second release. `words` is for test vectors.
 */
export function privatize(answer, design, { unknown = "raise", words = freshWords } = {}) {
  if (unknown !== "raise" && unknown !== "uniform") throw new TypeError('unknown must be "raise" or "uniform"');
  const code = design.codes.get(answerKey(answer));
  if (code === undefined && unknown === "raise") {
    throw new RangeError(
      `the answer is missing or not among the ${design.k} categories; check the form's choices when it is built, and ` +
        'where nobody is at hand pass { unknown: "uniform" }: this error is one person\'s bit',
    );
  }
  const replacement = below(words, 65535, design.k);
  return design.draw(code ?? replacement, words);
}

/** The text of a report; all texts of a design are equally long. */
export function encode(report, { fingerprint, reports, bits }) {
  return `rr1.${fingerprint}.${reports ? codeText(report, reports.length) : bitText(report, bits)}`;
}

function codeText(report, m) {
  if (!Number.isInteger(report) || report < 0 || report >= m) throw new RangeError("report is none of this design");
  const bytes = Math.ceil((m - 1).toString(16).length / 2);
  return report.toString(16).padStart(2 * bytes, "0");
}

function bitText(report, k) {
  const isReport = report instanceof Uint8Array && report.length === Math.ceil(k / 8);
  if (!isReport || (k % 8 && report.at(-1) >> k % 8)) throw new RangeError("report is none of this design");
  return Array.from(report, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
