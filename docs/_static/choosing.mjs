// The numbers of docs/choose.md: those of rr.planning and rr.privacy for k-ary randomized response. No page is needed.

import { fixed, percent, populationInterval, clopperPearson, rates, toDouble } from "../client/estimate.mjs";
import { exact } from "../client/rrstats.mjs";

// -- exact epsilon and prob -----------------------------------------------------------------------

const BITS = 256n;

/** floor(exp(epsilon) 2^256) up to a few hundred units, by the power series. */
function exponential(epsilon) {
  const [numerator, denominator] = exact(epsilon);
  let sum = 0n;
  for (let term = 1n << BITS, i = 1n; term; i += 1n) {
    sum += term;
    term = (term * numerator) / (denominator * i);
  }
  return sum;
}

/** The next larger (step 1n) or smaller (-1n) double beside a positive one. */
function beside(value, step) {
  const bits = new BigInt64Array(new Float64Array([value]).buffer);
  bits[0] += step;
  return new Float64Array(bits.buffer)[0];
}

const isAbove = ([a, b], [c, d]) => a * d > c * b;

/** The prob of rr.KRR(range(k), epsilon=epsilon): the largest double whose exact epsilon is at most this. */
export function probOf(epsilon, k) {
  const ratio = exponential(epsilon) - (1n << 20n); // rounded down: less truth is more privacy
  const highest = [ratio, ratio + (BigInt(k - 1) << BITS)];
  const nearest = toDouble(highest);
  return isAbove(exact(nearest), highest) ? beside(nearest, -1n) : nearest;
}

/** The largest likelihood ratio of a report, exactly. */
function ratioOf(prob, k) {
  const [numerator, denominator] = exact(prob);
  return [numerator * BigInt(k - 1), denominator - numerator];
}

/** The epsilon of rr.KRR(range(k), prob): the smallest double not below the logarithm of the ratio. */
export function epsilonOf(prob, k) {
  const ratio = ratioOf(prob, k);
  const isEnough = (epsilon) => !isAbove(ratio, [exponential(epsilon), 1n << BITS]);
  let epsilon = Math.log(toDouble(ratio));
  while (!isEnough(epsilon)) epsilon = beside(epsilon, 1n);
  while (isEnough(beside(epsilon, -1n))) epsilon = beside(epsilon, -1n);
  return epsilon;
}

// -- words that never round towards more privacy --------------------------------------------------

/** The power of ten of the first digit of a positive rational number. */
function magnitude([numerator, denominator]) {
  let power = numerator.toString().length - denominator.toString().length;
  const [up, down] = [10n ** BigInt(Math.max(-power, 0)), 10n ** BigInt(Math.max(power, 0))];
  if (numerator * up < denominator * down) power -= 1;
  return power;
}

/** A positive rational number with so many decimal places, rounded up or down, without trailing zeros. */
function rounded([numerator, denominator], places, up) {
  const scaled = places < 0 ? numerator : numerator * 10n ** BigInt(places);
  const divisor = places < 0 ? denominator * 10n ** BigInt(-places) : denominator;
  const whole = scaled / divisor + (up && scaled % divisor ? 1n : 0n);
  const digits = (places < 0 ? whole * 10n ** BigInt(-places) : whole).toString().padStart(places + 1, "0");
  const point = digits.length - Math.max(places, 0);
  const rest = digits.slice(point).replace(/0+$/, "");
  return digits.slice(0, point).replace(/\B(?=(\d{3})+$)/g, ",") + (rest && `.${rest}`);
}

/** A positive rational number rounded up to some significant digits. */
export const roundUp = (value, digits = 4) => rounded(value, digits - 1 - magnitude(value), true);

function factor(ratio) {
  const [numerator, denominator] = ratio;
  if (numerator >= 2n * denominator) return roundUp(ratio, 3);
  return rounded(ratio, Math.min(6, 1 - magnitude([numerator - denominator, denominator])), true);
}

/** A probability in percent, with two digits of itself or of its distance to 100%. */
function outward([numerator, denominator], up) {
  const isLikely = 2n * numerator > denominator;
  const places = 1 - magnitude([100n * (isLikely ? denominator - numerator : numerator), denominator]);
  return `${rounded([100n * numerator, denominator], isLikely ? Math.min(places, 6) : places, up)}%`;
}

const PRIOR = [1n, 20n]; // 5%

/** What rr.privacy.explain(rr.KRR(range(k), prob), 0.05) says, and its largest probability alone. */
export function explain(prob, k) {
  const [top, bottom] = ratioOf(prob, k);
  const [before, all] = PRIOR;
  const highest = outward([before * top, before * top + (all - before) * bottom], true);
  const lowest = outward([before * bottom, before * bottom + (all - before) * top], false);
  const text =
    `Epsilon is ${roundUp(exact(epsilonOf(prob, k)))} per report. A report changes the odds of any true answer by a ` +
    `factor of at most ${factor([top, bottom])}. A true answer that had probability 5% before the report has ` +
    `probability at most ${highest} afterwards, and at least ${lowest}.`;
  return { text, highest };
}

// -- the expected interval --------------------------------------------------------------------------

const MOST_COUNTS = 2000; // at which rr.planning computes an interval
const NODES = 20;

/** Probabilities of the counts first, first + 1, ... of Bin(n, rate), up to a common factor. */
function binomialWeights(n, rate, first, size) {
  const weights = new Float64Array(size);
  const mode = Math.min(Math.max(Math.round(n * rate) - first, 0), size - 1);
  const odds = rate / (1 - rate);
  weights[mode] = 1;
  for (let i = mode + 1; i < size; i += 1) {
    weights[i] = (weights[i - 1] * (n - (first + i - 1)) * odds) / (first + i);
  }
  for (let i = mode - 1; i >= 0; i -= 1) {
    weights[i] = (weights[i + 1] * (first + i + 1)) / ((n - (first + i)) * odds);
  }
  return weights;
}

/** The counts of rr.planning's grid, each for `step` counts beside each other, with their probabilities. */
function countsOf(n, rate) {
  const half = 9 * Math.sqrt(n * rate * (1 - rate)) + 40;
  const first = Math.max(0, Math.floor(n * rate - half));
  const size = Math.min(n, Math.ceil(n * rate + half)) - first + 1;
  const step = Math.ceil(size / MOST_COUNTS);
  const each = binomialWeights(n, rate, first, size);
  const cells = Array.from({ length: Math.ceil(size / step) }, (_, cell) => {
    const [start, end] = [cell * step, Math.min((cell + 1) * step, size)];
    const weight = each.subarray(start, end).reduce((sum, value) => sum + value, 0);
    return [first + (start + end - 1) / 2, weight];
  });
  const total = cells.reduce((sum, [, weight]) => sum + weight, 0);
  return cells.map(([count, weight]) => [count, weight / total]);
}

/**
 * Clopper and Pearson's intervals of increasing counts. They are analytic in the count, with singularities at 0 and n
 * alone: between bounds whose distances to both are within a factor of 2, a polynomial through 20 Chebyshev points is
 * exact up to rounding (their Bernstein ellipse has rho = 3 + sqrt(8), and rho^-20 = 5e-16).
 */
function exactRatesOf(counts, n) {
  const found = [];
  while (found.length < counts.length) {
    const low = counts[found.length];
    const longest = Math.min(2 * low, n - (n - low) / 2);
    let end = found.length + 1;
    while (end < counts.length && counts[end] <= longest) end += 1;
    const some = counts.slice(found.length, end);
    found.push(...(some.length > NODES ? interpolated(some, n) : some.map((count) => clopperPearson(count, n))));
  }
  return found;
}

/** Barycentric interpolation: Berrut and Trefethen (2004), "Barycentric Lagrange interpolation", sect. 5. */
function interpolated(counts, n) {
  const [low, high] = [counts[0], counts.at(-1)];
  const nodes = Array.from({ length: NODES }, (_, i) => {
    const angle = (Math.PI * (i + 0.5)) / NODES;
    const place = (low + high + (high - low) * Math.cos(angle)) / 2;
    return { place, weight: (i % 2 ? -1 : 1) * Math.sin(angle), ends: clopperPearson(place, n) };
  });
  return counts.map((count) => {
    const same = nodes.find(({ place }) => place === count);
    if (same) return same.ends;
    let [bottom, first, second] = [0, 0, 0];
    for (const { place, weight, ends } of nodes) {
      const part = weight / (count - place);
      bottom += part;
      first += part * ends[0];
      second += part * ends[1];
    }
    return [first / bottom, second / bottom];
  });
}

/**
 * The mean ends of the 95% interval of n people's reports at a true proportion. halfWidth is that of
 * rr.planning.half_width(n, proportion, k, prob), half the distance of the two.
 */
export function expectedInterval(n, proportion, k, prob) {
  const [q, p] = rates(k, prob);
  const cells = countsOf(n, Math.min(Math.max(q + proportion * (p - q), 0), 1));
  const exactRates = exactRatesOf(cells.map(([count]) => count), n);
  let [low, high] = [0, 0];
  cells.forEach(([count, weight], place) => {
    const ends = populationInterval(count, n, [q, p], exactRates[place]);
    low += weight * ends[0];
    high += weight * ends[1];
  });
  return { low, high, halfWidth: (high - low) / 2 };
}

/** All epsilons of three significant digits that the page has: 0.05, 0.0501, ..., 0.1, 0.101, ..., 1, 1.01, ..., 8. */
const GRID = [4, 3, 2].flatMap((places, decade) => {
  const [first, end] = [[500, 1000], [100, 1000], [100, 801]][decade];
  return Array.from({ length: end - first }, (_, i) => Number(`${first + i}e-${places}`));
});

/**
 * rr.planning.least_epsilon(half_width, n, proportion, k), rounded up to three digits, so that the interval is no
 * wider; at least 0.05, and undefined above 8.
 */
export function leastEpsilon(halfWidth, n, proportion, k) {
  const isEnough = (epsilon) => expectedInterval(n, proportion, k, probOf(epsilon, k)).halfWidth <= halfWidth;
  let [below, found] = [-1, GRID.length];
  while (found - below > 1) {
    const middle = Math.floor((below + found) / 2);
    if (isEnough(GRID[middle])) found = middle;
    else below = middle;
  }
  return GRID[found];
}

// -- a choice ---------------------------------------------------------------------------------------

/** What can be chosen: `epsilon` or `half_width`, each with its least and greatest value. */
export const BOUNDS = {
  k: [2, 100],
  n: [20, 1_000_000],
  proportion: [0.001, 0.999],
  epsilon: [0.05, 8],
  half_width: [0.0005, 0.49],
};

const isWithin = (name, value) => BOUNDS[name][0] <= value && value <= BOUNDS[name][1];
const isValid = (name, value) => isWithin(name, value) && (Number.isInteger(value) || (name !== "k" && name !== "n"));

/** The choice in the fragment of an address: what is missing or outside its bounds is the default. */
export function readFragment(fragment, defaults) {
  const told = new URLSearchParams(fragment.replace(/^#/, ""));
  const read = (name) => (isValid(name, Number(told.get(name) ?? NaN)) ? Number(told.get(name)) : undefined);
  const common = Object.fromEntries(["k", "n", "proportion"].map((name) => [name, read(name) ?? defaults[name]]));
  const half_width = read("half_width");
  return half_width === undefined ? { ...common, epsilon: read("epsilon") ?? defaults.epsilon } : { ...common, half_width };
}

/** The fragment of a choice, without its #. */
export const fragmentOf = (choice) => new URLSearchParams(choice).toString();

const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");

/** The epsilon and the half-width of a choice of one of both, and what was wished but is not possible. */
function completed({ k, n, proportion, epsilon, half_width: wished }) {
  const found = epsilon ?? leastEpsilon(wished, n, proportion, k) ?? BOUNDS.epsilon[1];
  const prob = probOf(found, k);
  const ends = expectedInterval(n, proportion, k, prob);
  let note = "";
  if (wished < ends.halfWidth) {
    note =
      `No epsilon up to 8 makes it ± ${fixed(100 * wished, 2)} points: ask more people, accept a wider interval, or ` +
      "ask directly.";
  } else if (wished !== undefined && found === BOUNDS.epsilon[0]) {
    note = "Epsilon 0.05, the smallest of this page, is enough.";
  }
  return { epsilon: found, prob, note, ...ends };
}

/** n / rr.planning.relative_variance(proportion, k, prob). */
function worth({ k, n, proportion }, prob) {
  const [q, p, gap] = rates(k, prob);
  const rate = q + proportion * gap;
  const answers = (n * proportion * (1 - proportion)) / ((rate * (1 - rate)) / gap ** 2);
  if (answers < 1) return "less than 1";
  return answers < 10 ? fixed(answers, 1) : grouped(fixed(answers, 0));
}

function python({ k, n, proportion, half_width: wished }, { epsilon, halfWidth, note }) {
  const planned =
    wished === undefined || wished < halfWidth
      ? `rr.planning.half_width(${n}, ${proportion}, ${k}, epsilon=${epsilon})  # ${fixed(halfWidth, 4)}`
      : `rr.planning.least_epsilon(${wished}, ${n}, ${proportion}, ${k})  # ${note ? "at most " : "rounded up: "}${epsilon}`;
  return (
    `import rrstats as rr\n\n${planned}\n` +
    `released = people.rr.privatize("answer", categories, epsilon=${epsilon})  # ${k} categories`
  );
}

/** Everything that the page shows of a choice: { epsilon, prob, halfWidth, low, high, texts }. */
export function shown(choice) {
  const { k, n, proportion } = choice;
  const found = completed(choice);
  const { prob, low, high, halfWidth, note, epsilon } = found;
  const [q] = rates(k, prob);
  const { text, highest } = explain(prob, k);
  const others = k === 2 ? "the other answer" : `each of the ${k - 1} other answers`;
  const texts = {
    result:
      `At epsilon ${epsilon}, the reports of ${grouped(n)} people give an interval of ± ${fixed(100 * halfWidth, 2)} ` +
      `percentage points on average. ${note}`.trim(),
    interval: `${percent(low, 2)} to ${percent(high, 2)}`,
    posterior: `A true answer that had 5% before has at most ${highest} after.`,
    report: `One report is the true answer with probability ${percent(prob, 2)}, and ${others} with ${percent(q, 2)}.`,
    worth: `${grouped(n)} reports tell as much as ${worth(choice, prob)} direct answers would, if all were honest.`,
    explain: text,
    python: python(choice, found),
  };
  return { epsilon, prob, halfWidth, low, high, texts };
}

/** How many of some deployments have a smaller epsilon, in words. */
export function compared(epsilon, others) {
  const fewer = others.filter((other) => other < epsilon).length;
  return `Deployments with a smaller epsilon than ${epsilon}: ${fewer} of ${others.length}.`;
}
