/* The search puts the glossary and the guides first, and pages about the package's history last. */
var Scorer = {
  score: ([page, , , , score, , kind]) => {
    if (page.startsWith("reference/generated/") && kind === "title") return 4; // the object is found too
    if (page.startsWith("guide/") || page.startsWith("getting_started")) return score + 8;
    if (["changelog", "design", "benchmarks", "contributing"].includes(page)) return score - 8;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
