/**
 * Estimates of true proportions from counts of k-RR reports, their 95% intervals, and a drawing of them: the numbers
 * of `rr.estimate(...)` in Python, for target "population" and without weights. Types: estimate.d.mts.
 *
 *     import { estimate, drawIntervals, percent } from "./estimate.mjs";
 *
 *     const found = estimate([640, 360], 0.75);     // counts of reports by category, P(report = truth)
 *     percent(found.proportions[0]);                // "78.0%", as f"{0.78:.1%}" of Python
 *     const rows = names.map((name, code) => ({
 *       name, proportion: found.proportions[code], low: found.low[code], high: found.high[code],
 *     }));
 *     figure.innerHTML = drawIntervals(rows, { title: "The poll", width: figure.clientWidth });
 *
 * No dependencies but rrstats.mjs beside it. The interval of a category is Clopper and Pearson's (1934) of its count,
 * carried through the two rates of a report; where the estimate lies outside [0, 1] the likelihood-ratio interval of
 * the proportions inside is added. MIT licence, like rrstats.
 */

import { exact } from "./rrstats.mjs";

// -- numbers as Python writes them --------------------------------------------------------------

/** The double nearest to a positive rational number, ties to even. */
export function toDouble([numerator, denominator]) {
  const missing = 70 + denominator.toString(2).length - numerator.toString(2).length;
  const shift = BigInt(Math.max(0, missing));
  const scaled = numerator << shift;
  const quotient = scaled / denominator;
  const isRounded = quotient * denominator !== scaled;
  return Number(isRounded ? quotient | 1n : quotient) / 2 ** Number(shift);
}

/** A finite number with so many decimal places, as f"{value:.2f}": an exact tie goes to the even digit. */
export function fixed(value, places) {
  const [numerator, denominator] = exact(Math.abs(value));
  const scaled = numerator * 10n ** BigInt(places);
  const twice = 2n * (scaled % denominator);
  const floor = scaled / denominator;
  const up = twice > denominator || (twice === denominator && floor % 2n === 1n);
  const digits = (up ? floor + 1n : floor).toString().padStart(places + 1, "0");
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const point = digits.length - places;
  return sign + digits.slice(0, point) + (places ? `.${digits.slice(point)}` : "");
}

/** A proportion in percent, as f"{value:.1%}"; nan for what no report tells. */
export const percent = (value, places = 1) => (Number.isNaN(value) ? "nan%" : `${fixed(value * 100, places)}%`);

// -- binomial distributions ---------------------------------------------------------------------

/** log(x!) - log(sqrt(2 pi x) (x / e)^x), for x > 0: a series from 16 on, below it by recurrence. */
function stirlingError(x) {
  let sum = 0;
  for (; x < 16; x += 1) sum += (x + 0.5) * Math.log1p(1 / x) - 1;
  const y = 1 / (x * x);
  return sum + (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - (y * 691) / 360360))))) / x;
}

/** x log(x / mean) + mean - x, without cancellation near the mean. */
function halfDeviance(x, mean) {
  const gap = x - mean;
  if (Math.abs(gap) > 0.1 * (x + mean)) return x * Math.log(x / mean) - gap;
  const ratio = gap / (x + mean);
  let sum = gap * ratio;
  for (let power = 2 * x * ratio ** 3, odd = 3, last; sum !== last; power *= ratio * ratio, odd += 2) {
    last = sum;
    sum += power / odd;
  }
  return sum;
}

/**
 * x^a (1 - x)^b / B(a, b) for a, b > 0, by the deviance from the mode: no difference of large logarithms.
 * Source: Loader (2000), "Fast and accurate computation of binomial probabilities".
 */
function betaPower(x, complement, a, b) {
  const n = a + b;
  const errors = stirlingError(n) - stirlingError(a) - stirlingError(b);
  const deviance = halfDeviance(a, n * x) + halfDeviance(b, n * complement);
  return Math.sqrt((a * b) / (2 * Math.PI * n)) * Math.exp(errors - deviance);
}

/**
 * The regularized incomplete beta function I_x(a, b) divided by betaPower, where it is the smaller tail.
 * The even part of the continued fraction DLMF 8.17.22, by Lentz's method. Its terms are written with
 * a (1 - x) - b x, the distance from the mean, so that they do not cancel where x is near 1.
 */
function betaFraction(x, complement, a, b) {
  const distance = a * complement - b * x;
  let c = (1 + distance) / (a + 1);
  let d = 0;
  let divisor = a * c;
  for (let m = 1; m < 1e6; m += 1) {
    const t = a + 2 * m;
    const even = (m * (b - m) * x) / ((t - 1) * t);
    const alpha = (even * (a + m - 1) * (a + b + m - 1) * x) / ((t - 2) * (t - 1));
    const beta = ((a + m) * (1 + distance + m * (2 + complement)) + m * (m + 1)) / (t * (t + 1)) + even;
    d = 1 / (beta + alpha * d);
    c = beta + alpha / c;
    divisor *= c * d;
    if (Math.abs(c * d - 1) < 1e-16) break;
  }
  return 1 / divisor;
}

/** I_x(a, b) at log(x / (1 - x)), with its derivative there. */
function incompleteBeta(logit, a, b) {
  const x = 1 / (1 + Math.exp(-logit));
  const complement = 1 / (1 + Math.exp(logit));
  const slope = betaPower(x, complement, a, b);
  const isLower = b * x < a * complement;
  const value = isLower ? slope * betaFraction(x, complement, a, b) : 1 - slope * betaFraction(complement, x, b, a);
  return [value, slope];
}

const TAIL = (1 - 0.95) / 2;
const QUANTILE = 1.959963984540054; // of the normal distribution, at 1 - TAIL

/**
 * log(x / (1 - x)) where I_x(a, b) is TAIL. Newton's method: the logarithm of I is concave in this variable, so
 * that each step but the first comes nearer from the left.
 */
function betaQuantile(a, b) {
  let logit = Math.log(a / b) - QUANTILE * Math.sqrt(1 / a + 1 / b);
  for (let step = 0, moved = 1; step < 200 && Math.abs(moved) > 1e-15 * Math.max(1, Math.abs(logit)); step += 1) {
    const [value, slope] = incompleteBeta(logit, a, b);
    moved = (Math.log(TAIL / value) * value) / slope;
    logit += moved;
  }
  return logit;
}

/** The exact 95% interval of a binomial rate with equal tails; a count need not be whole. */
export function clopperPearson(count, n) {
  const low = count <= 0 ? 0 : 1 / (1 + Math.exp(-betaQuantile(count, n - count + 1)));
  const high = count >= n ? 1 : 1 / (1 + Math.exp(betaQuantile(n - count, count + 1)));
  return [low, high];
}

// -- the true proportion ------------------------------------------------------------------------

/** The last rate from `best` to `end` that the likelihood ratio against `best` does not reject at 95%. */
function lastLikely(count, n, best, end) {
  const term = (number, change) => (number > 0 ? number * Math.log1p(change) : 0);
  const isLikely = (rate) => {
    const away = rate - best;
    return -2 * (term(count, away / best) + term(n - count, -away / (1 - best))) <= QUANTILE ** 2;
  };
  if (isLikely(end)) return end;
  let [inside, outside] = [best, end];
  for (let step = 0; step < 60; step += 1) {
    const middle = (inside + outside) / 2;
    if (isLikely(middle)) inside = middle;
    else outside = middle;
  }
  return inside;
}

const cut = (value) => Math.min(Math.max(value, 0), 1);

/**
 * The default 95% interval of the true proportion of a category, in the population of which n > 0 respondents are a
 * sample. `rates` are those of such reports at a true proportion of 0 and of 1, `exactRates` the interval of the
 * observed rate, where it is known already.
 */
export function populationInterval(count, n, [q, p], exactRates = clopperPearson(count, n)) {
  let [low, high] = exactRates.map((rate) => cut((rate - q) / (p - q)));
  const observed = count / n;
  if (observed < q) {
    low = 0;
    high = Math.max(high, cut((lastLikely(count, n, q, p) - q) / (p - q)));
  } else if (observed > p) {
    low = Math.min(low, cut((lastLikely(count, n, p, q) - q) / (p - q)));
    high = 1;
  }
  return [low, high];
}

/** [q, p, p - q] of k-RR: P(report of a category) for another true one and for itself, and their difference. */
export function rates(k, prob) {
  const [numerator, denominator] = exact(prob);
  const others = BigInt(k - 1);
  const gap = numerator * BigInt(k) - denominator; // times others * denominator
  if (!(k >= 2) || gap <= 0n || numerator >= denominator) {
    throw new RangeError(`prob must be above 1/${k} and below 1 for ${k} categories, got ${prob}`);
  }
  const bottom = others * denominator;
  return [toDouble([denominator - numerator, bottom]), prob, toDouble([gap, bottom])];
}

/**
 * The estimate of `rr.estimate(rr.Tally.from_counts(counts, rr.KRR(categories, prob)))`.
 *
 * counts: reports by category, whole numbers; prob: P(report = truth), above 1/k and below 1, a Number.
 * Returns { n, proportions, std_error, low, high }, arrays along the categories. Proportions are unbiased and may lie
 * outside [0, 1]; without reports they are NaN and intervals are [0, 1]. Raises RangeError for what is no such count.
 */
export function estimate(counts, prob) {
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) {
    throw new RangeError("counts must be whole numbers of reports, one for each category");
  }
  const [q, p, gap] = rates(counts.length, prob);
  const n = counts.reduce((sum, count) => sum + count, 0);
  const proportions = counts.map((count) => (count / n - q) / gap);
  const std_error = proportions.map((proportion) => {
    const rate = cut(q + proportion * gap);
    return n > 1 ? Math.sqrt((rate * (1 - rate)) / gap ** 2 / (n - 1)) : NaN;
  });
  const intervals = counts.map((count) => (n ? populationInterval(count, n, [q, p]) : [0, 1]));
  return { n, proportions, std_error, low: intervals.map(([low]) => low), high: intervals.map(([, high]) => high) };
}

// -- a drawing ----------------------------------------------------------------------------------

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A text inside of SVG or HTML. */
export const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => ESCAPES[sign]);

/** Ticks of an axis that holds 0 and some proportions: whole percents, at most eight steps or those of 25%. */
function ticks(values) {
  const most = Math.max(...values);
  const least = Math.min(0, ...values);
  const steps = [1, 2, 5, 10, 20].map((step) => step / 100);
  const step = steps.find((each) => (most - least) / each <= 8) ?? 0.25;
  const first = Math.floor(least / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(most / step - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step);
}

/**
 * Intervals as the text of an SVG that takes the colour of the text around it: a bar with ends, a dot at the estimate,
 * a diamond at the truth where it is known. Every number is also written, so that no colour and no length is needed.
 *
 * rows: { name, low, high, proportion?, truth? } in 0..1, all of them optional but name, low and high.
 * options: title, which is read aloud; width in pixels, that of the place; places, of the written percents.
 */
export function drawIntervals(rows, { title = "95% intervals", width = 640, places = 1 } = {}) {
  const known = (value) => value !== undefined && !Number.isNaN(value);
  const all = rows.flatMap(({ low, high, proportion, truth }) => [low, high, proportion, truth]).filter(known);
  const marks = ticks(all);
  const [first, last] = [marks[0], marks.at(-1)];
  const at = (value) => (22 + ((width - 44) * (value - first)) / (last - first)).toFixed(1);
  const numbers = ({ low, high, proportion, truth }) =>
    `${known(proportion) ? `${percent(proportion, places)}, ` : ""}${percent(low, places)} to ${percent(high, places)}` +
    (known(truth) ? ` (truth ${percent(truth, places)})` : "");
  const words = (row) => `${row.name}: ${numbers(row)}`;
  const isWide = rows.every((row) => 7 * words(row).length < width - 30); // else the name has a line of its own
  const step = isWide ? 46 : 62;
  const height = step * rows.length + 22;
  const grid = marks.map(
    (mark) =>
      `<path class="grid" d="M${at(mark)} 0V${height - 20}" stroke="currentColor" stroke-opacity="0.2"/>` +
      `<text x="${at(mark)}" y="${height - 5}" text-anchor="middle">${fixed(mark * 100, 0)}%</text>`,
  );
  const bars = rows.map((row, place) => {
    const y = step * (place + 1) - 14;
    const [low, high] = [at(row.low), at(row.high)];
    const lines = isWide ? [words(row)] : [numbers(row), `${row.name}:`];
    const text = lines.map((line, up) => `<text x="22" y="${y - 14 - 16 * up}">${escaped(line)}</text>`);
    const dot = known(row.proportion) ? `<circle cx="${at(row.proportion)}" cy="${y}" r="4.5" fill="currentColor"/>` : "";
    const diamond = known(row.truth)
      ? `<path class="truth" d="M${at(row.truth)} ${y - 8}l6 8l-6 8l-6-8z" fill="none" stroke="currentColor" stroke-width="2"/>`
      : "";
    return (
      `${text.join("")}<path class="interval" d="M${low} ${y}H${high}M${low} ${y - 6}v12M${high} ${y - 6}v12" fill="none" ` +
      `stroke="currentColor" stroke-width="2.5"/>${dot}${diamond}`
    );
  });
  const label = escaped(`${title}. ${rows.map(words).join("; ")}`);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${label}" viewBox="0 0 ${width} ${height}" ` +
    `width="${width}" height="${height}" font-size="13" fill="currentColor">${grid.join("")}${bars.join("")}</svg>`
  );
}
