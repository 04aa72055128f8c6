/** The script of results.html: the estimate of the reports that have arrived, every two seconds. */

import { drawIntervals, estimate, percent } from "./estimate.mjs";

const part = (id) => document.getElementById(id);

/** Show what the server counts: { question, categories, prob, counts }. */
function show({ question, categories, prob, counts }) {
  const { n, proportions, low, high } = estimate(counts, prob);
  const rows = categories.map((name, code) => ({
    name,
    proportion: proportions[code],
    low: low[code],
    high: high[code],
  }));
  const width = Math.min(640, part("drawing").clientWidth); // larger on a large screen, with its letters
  const said = categories.map((name, code) => `${name} ${counts[code]}`).join(", ");
  part("question").textContent = question;
  part("reports").textContent = n === 1 ? `One report: ${said}.` : `${n} reports: ${said}.`;
  part("drawing").innerHTML = drawIntervals(rows, { title: "Estimates with 95% intervals", width });
  part("promise").textContent =
    `A report is the true answer with probability ${percent(prob)}. The estimate is of the true answers in the ` +
    "population that these people stand for.";
}

async function refresh() {
  try {
    const response = await fetch("/counts", { cache: "no-store", credentials: "omit" });
    show(await response.json());
  } catch {
    part("reports").textContent = "The server does not answer.";
  }
  setTimeout(refresh, 2000);
}

part("address").textContent = `${location.origin}/`;
refresh();
