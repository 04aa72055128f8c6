/* The search shows whole sentences around the first word that it found, not 240 letters. */
const LONGEST = 320;

/** The sentences of a text around a place: the one that holds it, and those after it that fit. */
function sentencesAt(text, place) {
  const plain = text.replace(/\s+/g, " ");
  // The place moves as far as the text before it shrinks.
  const target = text.slice(0, place).replace(/\s+/g, " ").length;
  const ends = [0];
  for (const end of plain.matchAll(/[.!?:]["')\]]*\s+(?=["'(\[]?[A-Z0-9])|\s#\s/g)) {
    ends.push(end.index + end[0].length);
  }
  ends.push(plain.length);
  let first = ends.findLastIndex((start) => start <= target);
  first = Math.min(first, ends.length - 2);
  let last = first + 1;
  while (last + 1 < ends.length && ends[last + 1] - ends[first] <= LONGEST) last += 1;
  let excerpt = plain.slice(ends[first], ends[last]).trim();
  if (excerpt.length > LONGEST) {
    // One long "sentence", such as a table: whole words around the place.
    const start = Math.max(0, target - ends[first] - LONGEST / 2);
    const words = excerpt.slice(start, start + LONGEST);
    const left = start > 0 ? words.replace(/^\S*\s/, "… ") : words;
    excerpt = start + LONGEST < excerpt.length ? left.replace(/\s\S*$/, " …") : left;
  }
  return excerpt.replace(/\s#$/, "");
}

function showSentences() {
  if (typeof Search === "undefined") return; // not the search page
  Search.makeSearchSummary = (htmlText, keywords, anchor) => {
    const text = Search.htmlToText(htmlText, anchor);
    if (text === "") return null;
    const lower = text.toLowerCase();
    const places = [...keywords].map((word) => lower.indexOf(word.toLowerCase()));
    const place = places.filter((at) => at > -1).slice(-1)[0] ?? 0;
    const summary = document.createElement("p");
    summary.classList.add("context");
    summary.textContent = sentencesAt(text, place);
    return summary;
  };
}

if (typeof document !== "undefined") {
  showSentences();
  document.addEventListener("DOMContentLoaded", showSentences);
}
if (typeof module !== "undefined") module.exports = { sentencesAt };
