/** The script of form.html: ask one question, randomize the answer here, send and show the report alone. */

import { encode, privatize, readDesign } from "./rrstats.mjs";

const part = (id) => document.getElementById(id);
const { question, collector = null } = JSON.parse(part("design").textContent);
const design = readDesign(part("design").textContent);
const nameOf = ({ label, ...tagged }) => {
  const [[tag, value]] = Object.entries(tagged);
  return label ?? (tag === "missing" ? "no answer" : tag === "tuple" ? value.map(nameOf).join(", ") : String(value));
};
const names = design.categories.map(nameOf);

/** The two sentences about this design: what happens, and what a report proves. */
function promise({ k, prob: [numerator, denominator] }) {
  const p = Number(numerator) / Number(denominator);
  const percent = p < 0.9995 ? `${Number((100 * p).toFixed(1))}%` : "more than 99.9%";
  const ratio = Math.ceil((100 * p * (k - 1)) / (1 - p) - 1e-9) / 100; // rounded up: no promise is overstated
  const others = k === 2 ? "the other answer" : `one of the other ${k - 1}, each equally likely`;
  return (
    `This page draws a random report before anything is sent: with probability ${percent} your answer, ` +
    `otherwise ${others}. No report proves an answer: ` +
    `each is at most ${ratio} times as likely with one answer as with another.`
  );
}

function choice(name, code) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  Object.assign(input, { type: "radio", name: "answer", value: code, required: true });
  label.append(input, name);
  return label;
}

/** 128 random bits, by which the collector knows a report that is sent again. No answer is in them. */
function newNumber() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Send a line; true where the collector has it. Only this text leaves the page. */
async function send(line) {
  const headers = { "Content-Type": "text/plain" };
  const options = { method: "POST", headers, body: line, credentials: "omit", cache: "no-store" };
  return fetch(collector, options).then((response) => response.ok, () => false);
}

async function deliver(line) {
  const again = part("again");
  again.hidden = true;
  const sent = collector !== null && (await send(line));
  if (collector === null) {
    part("outcome").textContent = "This would be sent";
    again.textContent = "Try another answer";
    again.onclick = open;
  } else {
    part("outcome").textContent = sent ? "This was sent" : "The report could not be sent";
    again.textContent = "Send the same report again"; // a new report would be a second release
    again.onclick = () => deliver(line);
  }
  again.hidden = sent;
}

/** The true answer stays nowhere, also not in a page that the browser keeps for its Back button. */
function forget() {
  part("form").reset();
}

function open() {
  part("fields").disabled = false;
  part("result").hidden = true;
}

part("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const [chosen] = new FormData(event.target).getAll("answer");
  if (chosen === undefined) return; // a closed form that a program submits: no second report
  forget();
  part("fields").disabled = true;
  part("outcome").textContent = "Nothing was sent"; // and stays, if no random numbers can be drawn
  part("result").hidden = false;
  const report = privatize(design.categories[chosen], design);
  const line = `${encode(report, design)} ${newNumber()}`;
  part("report").textContent = line;
  const fate = collector === null ? "This form has no collector, so nothing left the page." : "Nothing else is sent.";
  part("meaning").textContent =
    `The first word says “${names[report]}”, which may or may not be your answer. The second is a random number, so that ` +
    `a report that is sent again is counted once. ${fate}`;
  part("outcome").textContent = "Sending";
  part("result").focus();
  deliver(line);
});

addEventListener("pagehide", forget);
part("promise").textContent = promise(design);
part("question").textContent = question;
part("answers").append(...names.map(choice));
part("blocked").remove();
part("form").hidden = false;
open();
