// The sliders of docs/choose.md: each moves a number, and a number moves its slider. choosing.mjs knows all numbers.

import { drawIntervals } from "../client/estimate.mjs";
import { privatize, readDesign } from "../client/rrstats.mjs";
import { BOUNDS, compared, fragmentOf, readFragment, shown } from "./choosing.mjs";

const form = document.getElementById("choose");
const part = (name) => form.querySelector(`[data-part="${name}"]`);

/** The stops of a slider: some digits in each decade, within the bounds. */
function stops([least, most], digits, decades) {
  const all = decades.flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`)));
  return [...new Set(all)].filter((value) => least <= value && value <= most);
}

const FINE = [1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9];
const count = (first, last) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const STOPS = {
  k: [...count(2, 20), 25, 30, 40, 50, 60, 80, 100],
  n: stops(BOUNDS.n, FINE, count(1, 6)),
  proportion: [0.1, 0.2, 0.5, ...count(1, 99), 99.5, 99.8, 99.9],
  epsilon: [...stops([0.05, 0.99], FINE, [-2, -1]), ...count(10, 30).map((i) => i / 10), ...count(16, 40).map((i) => i / 5)]
    .filter((value) => value <= 8),
  half_width: stops([0.05, 49], FINE, count(-2, 1)),
};
const PERCENT = ["proportion", "half_width"]; // typed in percent, without the rounding of a division
const fromTyped = (name, text) => (PERCENT.includes(name) ? Number(`${Number(text)}e-2`) : Number(text));
const toTyped = (name, value) => (PERCENT.includes(name) ? Number((value * 100).toPrecision(10)) : value);

const controls = Object.fromEntries(
  Object.keys(STOPS).map((name) => [name, { slider: part(`${name}-slider`), number: part(name) }]),
);

/** Show a value at its two places; the slider stands at the nearest stop. */
function place(name, typed) {
  const { slider, number } = controls[name];
  const distance = (stop) => Math.abs(Math.log(stop / typed));
  const nearest = STOPS[name].reduce((best, stop, i) => (distance(stop) < distance(STOPS[name][best]) ? i : best), 0);
  slider.value = nearest;
  slider.setAttribute("aria-valuetext", `${typed}${PERCENT.includes(name) ? " percent" : ""}`);
  if (document.activeElement !== number) number.value = typed;
}

// -- what is shown --------------------------------------------------------------------------------

let choice;
let drawn; // its numbers
let taken; // the values at the sliders: those of the choice, and epsilon or width computed

function draw() {
  const row = { name: "Expected", low: drawn.low, high: drawn.high, truth: choice.proportion };
  const width = Math.min(part("figure").clientWidth || 640, 720);
  part("figure").innerHTML = drawIntervals([row], { title: "The expected interval over the truth", width, places: 2 });
}

/** Ten reports of one true answer, by the client that respondents would use. */
function report() {
  const categories = Array.from({ length: choice.k }, (_, code) => ({ str: String(code + 1) }));
  const mechanism = { type: "KRR", categories, prob: drawn.prob };
  const design = readDesign(JSON.stringify({ mechanism, fingerprint: "0".repeat(16) }));
  part("reports").textContent = Array.from({ length: 10 }, () => 1 + privatize("1", design)).join(", ");
}

/** Our list, by epsilon, with this choice at its place. */
function rank() {
  const table = document.querySelector("table.dataframe");
  if (!table) return;
  const body = table.tBodies[0];
  body.querySelector(".chosen")?.remove();
  const of = (row) => Number(row.lastElementChild.textContent.replace("inf", "Infinity"));
  const rows = [...body.rows];
  document.getElementById("compared").textContent = compared(drawn.epsilon, rows.map(of));
  const own = Object.assign(document.createElement("tr"), { className: "chosen" });
  own.innerHTML = `<th>this choice</th><td>one of ${choice.k} answers</td><td>${drawn.epsilon}</td>`;
  const sorted = [...rows, own].sort((one, other) => of(one) - of(other));
  body.append(...sorted);
}

function update() {
  const before = drawn?.prob;
  drawn = shown(choice);
  taken = { ...choice, epsilon: drawn.epsilon, half_width: choice.half_width ?? Number(drawn.halfWidth.toFixed(4)) };
  for (const [name, value] of Object.entries(taken)) place(name, toTyped(name, value));
  for (const [name, text] of Object.entries(drawn.texts)) part(name).textContent = text;
  draw();
  if (before !== drawn.prob) report();
  rank();
  part("link").href = `#${fragmentOf(choice)}`;
}

let waiting = false;

/** One computation for all movements until the next picture. */
function soon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    update();
    history.replaceState(null, "", part("link").href);
  });
}

const EITHER = ["epsilon", "half_width"];

/** Epsilon and width move each other: the one that was set last stays, whatever else moves. */
function choose(name, value) {
  const kept = Object.entries(choice).filter(([each]) => !(EITHER.includes(name) && EITHER.includes(each)));
  choice = { ...Object.fromEntries(kept), [name]: value };
  soon();
}

/** Take a number that is typed; what is outside the bounds is said, and not taken. */
function take(name, number) {
  const isValid = number.value !== "" && number.checkValidity();
  number.setAttribute("aria-invalid", String(!isValid));
  part("wrong").textContent = isValid ? "" : `Not taken: ${number.validationMessage || "a number is missing"}`;
  if (isValid) choose(name, fromTyped(name, number.value));
}

for (const [name, { slider, number }] of Object.entries(controls)) {
  slider.max = STOPS[name].length - 1;
  [number.min, number.max] = BOUNDS[name].map((value) => toTyped(name, value));
  slider.addEventListener("input", () => {
    number.value = STOPS[name][slider.value];
    take(name, number);
  });
  number.addEventListener("input", () => take(name, number));
  number.addEventListener("blur", () => {
    number.value = toTyped(name, taken[name]); // what was not taken is replaced by what is shown
    number.removeAttribute("aria-invalid");
    part("wrong").textContent = "";
  });
}

let themeOnScreen;

/** Paper is light, also where the site is dark. */
function paper(isPrinted) {
  const root = document.documentElement.dataset;
  if (root.theme === undefined) return;
  if (isPrinted) themeOnScreen = root.theme;
  root.theme = isPrinted ? "light" : themeOnScreen;
}

/** The choice of the address; a link to a place of the page, which has none, leaves what is shown. */
function open() {
  if (choice && !location.hash.includes("=")) return;
  choice = readFragment(location.hash, { k: 2, n: 2000, proportion: 0.1, epsilon: 1 });
  update();
}

form.addEventListener("submit", (event) => event.preventDefault());
part("again").addEventListener("click", report);
addEventListener("hashchange", open);
addEventListener("resize", draw);
addEventListener("beforeprint", () => paper(true));
addEventListener("afterprint", () => paper(false));
part("blocked").remove();
part("page").hidden = false;
open();
