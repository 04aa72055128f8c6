"""The page that accompanies a release, and what it says of each mechanism."""

import datetime
import html.parser
import json
import re
from fractions import Fraction
from pathlib import Path

import catalogue
import numpy as np
import pytest
from refusals import refused

import rrstats as rr
from rrstats import _display as pages
from rrstats import statement as statements
from rrstats.estimation.report_columns.report_frames import plan_records
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.channel import expected_rates
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.records import ColumnRecord
from rrstats.randomness import sources
from rrstats.statement import statement

ROOT = Path(__file__).resolve().parent.parent
KRR = rr.KRR(["never", "once", "often"], 0.75)
NASTY = "<script>alert(1)</script> | *a* `b` [c](d) &amp; \x1b[2J\n# e \u202e ``` $x$ ~~s~~"


class Reader(html.parser.HTMLParser):
    """The text of an HTML page, its tags, and the cells of its table rows."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.rows = [], "", []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        self.text += data
        if self.tags and self.tags[-1][0] in ("td", "th"):
            self.rows[-1][-1] += data.strip("\n")


def record(mechanism=KRR, name="answer", **facts):
    return ColumnRecord.of(name, mechanism, **facts)


def words(page):
    """The page in one line, without the escapes of Markdown."""
    return " ".join(re.sub(r"\\(?=\W)|\\(?=_)", "", page).split())


def paragraphs(*records, **options):
    return words(statement(records, **options))


# -- the promise ---------------------------------------------------------------------------


@pytest.mark.skipif(
    not (ROOT / "README.md").exists(), reason="the tests were copied away from the documents"
)
@pytest.mark.parametrize("part", ["PROMISE", "NOT_HIDDEN", "EXACT"])
def test_the_promise_is_that_of_the_documents(part):
    """The page on limits, README in its first sentence, and the statement promise the same."""
    promised = getattr(statements, part)
    for name in ("docs/guide/limits.md", *["README.md"] * (part == "PROMISE")):
        assert promised in " ".join((ROOT / name).read_text("utf-8").replace("`", "").split())
    page = statement([record()])
    assert promised in words(page)
    assert promised in Reader(page.to_html()).text


@pytest.mark.parametrize("stretched", [True, False])
def test_the_generator_of_this_environment_is_named(stretched, monkeypatch):
    """The page says which bits are drawn here, not where a package might be installed."""
    monkeypatch.setattr(sources, "_ciphers", lambda: object() if stretched else None)
    page = paragraphs(record())
    assert "where the cryptography package is installed" not in page
    assert ("stretched by AES-256, which makes it computational: the cryp" in page) == stretched
    assert ("from the operating system alone: the cryptography" in page) != stretched


def test_the_package_is_named():
    """A reader finds the package, and not the other project that has its import name."""
    assert "rrstats is the Python package randomized-response; on the public" in paragraphs(
        record()
    )


# -- what was done -------------------------------------------------------------------------


def test_a_page_tells_categories_probabilities_and_epsilon():
    """ln(0.75 x 2 / 0.25) = 1.79176 is shown rounded up; a lie has 0.25 / 2 = 12.5%."""
    page = paragraphs(record())
    assert "possible answers, fixed beforehand: \u201cnever\u201d, \u201conce\u201d, " in page
    assert "A report is the true answer with probability 75%, and each of the other 2 with" in page
    assert "probability 12.5%." in page
    assert "| answer | 3 | 75% | 1.792 |" in page
    assert (
        "\u201canswer\u201d: epsilon 1.792. A report can change the odds between any two "
        "possible true answers by a factor of at most 6: a true answer with probability 5% before "
        "has probability at most 24% afterwards." in page  # 0.3 / 1.25
    )


def test_epsilon_of_a_row_is_the_sum_rounded_up():
    """ln 6 + ln 3 = ln 18 = 2.890372; the odds of a row change by 18 at most.

    18 x 0.05 / (18 x 0.05 + 0.95) = 48.65%; rounded up in three digits that is 48.7, and of a
    factor of 9, 32.14% is 32.2.
    """
    page = paragraphs(record(), record(rr.KRR([True, False], 0.75), "smoker"))
    assert "Epsilon of a whole row, all its reports together: 2.891." in page
    assert "has probability at most 32.2% after" in paragraphs(record(rr.KRR(["a", "b"], 0.9)))
    assert "by a factor of at most 18: a true answer with probability 5% before has " in page


def test_a_plan_looks_at_the_answers_that_it_asks_for():
    """What a row was not asked for is not looked at, so the page does not say that it fits."""
    plan = rr.planning.FramePlan({"a": ["no", "yes"], "b": ["no", "yes"]}, 1, ["a", "b"])
    page = paragraphs(*plan_records(plan))
    said = "stopped the release, so there were none among those that were asked for."
    assert said in page
    assert said not in paragraphs(record())


HOLDS = "In \u201canswer\u201d it also holds for replacing the value"


@pytest.mark.parametrize(
    ("mechanism", "facts", "said"),
    [
        (KRR, {}, "Missing answers, and answers outside this list, would have stopped the release"),
        (KRR, {}, "Where other answers would have stopped the release, that it exists says that"),
        (KRR, {"unknown": "uniform"}, "Missing answers, and answers outside this list, were first"),
        (KRR, {"unknown": "warn"}, "Missing answers, and answers outside this list, were first"),
        (KRR, {"missing": "uniform"}, "Missing answers were first replaced by one of"),
        (KRR, {"missing": "uniform"}, f"{HOLDS} by a missing value. Where other answers"),
        (KRR, {"unknown": "uniform"}, f"{HOLDS} by a missing value, or by anything else. It does"),
        (KRR, {"unknown": "uniform", "missing": "keep"}, f"{HOLDS} by anything else. In"),
        (
            rr.KRR(["a", None], 0.75),
            {"unknown": "uniform"},
            f"declared category. {HOLDS} by anything",
        ),
        (KRR, {"missing": "keep"}, "Missing answers were left as they were: the file shows who"),
        (
            KRR,
            {"unknown": "uniform", "missing": "raise"},
            "Missing answers would have stopped the release",
        ),
        (rr.KRR(["a", None], 0.75), {}, "A missing answer is one of the possible answers and is"),
        (KRR, {"unknown": "raise", "missing": "keep"}, "Answers outside this list would have"),
        (KRR, {"unknown": "raise", "missing": "keep"}, "Missing answers were left as they were"),
        (KRR, {"keyed": True}, "In \u201canswer\u201d the bits come from a secret key instead."),
        (rr.KRR(["a", None], 0.75), {"missing": "keep"}, statements.PROMISE),
    ],
)
def test_what_happened_to_other_answers(mechanism, facts, said):
    """The page says how unknown and missing answers were treated, for each policy."""
    page = paragraphs(record(mechanism, **facts))
    assert said in page
    kept = facts.get("missing") == "keep" and mechanism is KRR  # where it is no category
    assert kept == ("who did not answer, in" in page) == ("who answered" in page)
    assert ("it also holds" in page) == bool({"uniform", "warn"} & {*facts.values()})
    assert facts.get("keyed", False) == ("secret key" in page)


KEPT = "In \u201canswer\u201d whether a person answered is not protected."
BY_MISSING = "by a missing value, or by anything else"


def test_the_promise_ends_where_missing_answers_stay_missing():
    """A kept missing answer is told from any other, so nothing on the page says otherwise."""
    page = paragraphs(record(unknown="raise", missing="keep"))
    assert f"that there were none. {KEPT} It does" in page
    assert BY_MISSING not in page
    assert "anything else" not in page
    sentences = [
        part for part in re.split(r"(?<=[.:]) ", page) if "any two possible true answers" in part
    ]
    assert ["A report of a person who answered can change"] == [
        sentence.partition(" the odds")[0] for sentence in sentences
    ]
    assert "It does not cover whether a person answered, in \u201canswer\u201d." in page
    shown = words(statements.describe([record(missing="keep")]))
    assert "A report of a person who answered can change the odds" in shown
    assert "It does not cover whether a person answered" in shown
    assert KEPT not in paragraphs(record())
    assert "who answered" not in paragraphs(record()) + statements.describe([record()])


def test_the_promise_is_told_for_each_column():
    """Where only one column keeps missing answers, the others keep their promise."""
    page = paragraphs(record(missing="keep"), record(name="smoker", unknown="uniform"))
    for said in (
        "where it stands (unless the rows were shuffled)",
        f"declared category. {HOLDS.replace('answer', 'smoker')} {BY_MISSING}. Where other answers "
        f"would have stopped the release, that it exists says that there were none. {KEPT}",
        "of a row of a person who answered in \u201canswer\u201d can change the odds",
        "\u201csmoker\u201d: epsilon 1.792. A report can change the odds",
        "\u201canswer\u201d: epsilon 1.792. A report of a person who answered",
    ):
        assert said in page


def test_nothing_is_promised_of_simulated_noise():
    """Said first; neither promise, nor odds, nor an epsilon stand for noise that is no noise."""
    page = paragraphs(record(simulated=True))
    assert "For \u201canswer\u201d nothing is promised: the noise was simulated." in page
    for text in (statements.PROMISE, statements.EXACT, "odds", "afterwards"):
        assert text not in page
    page = statement([record(), record(name="other", simulated=True)])
    assert page.split("\n\n")[1].startswith("> **NOT PROTECTED. The noise in \u201cother\u201d was")
    page = words(page)
    assert statements.PROMISE in page
    assert "| other | 3 | 75% | 1.792, void: the noise was simulated |" in page
    assert "| answer | 3 | 75% | 1.792 |" in page
    assert "\u201canswer\u201d: epsilon 1.792. A report" in page
    assert "\u201cother\u201d: epsilon" not in page
    assert "Epsilon of a whole row: void, because noise was simulated." in page
    assert "NOT PROTECTED" not in statement([record()])
    shown = statements.describe([record(simulated=True)])
    assert shown.startswith("NOT PROTECTED. ")
    assert "odds" not in shown


@pytest.mark.parametrize("prob", [0.9, 0.51, 1 / 3 + 1e-9, 0.99999])
def test_page_and_description_round_alike(prob):
    """The same odds are the same words, rounded up: never below the exact ones."""
    said = record(rr.KRR(["a", "b"], prob) if prob > 0.5 else rr.KRR(["a", "b", "c"], prob))
    pattern = r"at most ([\d.,e]+): a true answer .*? at most ([\d.]+)% after"
    (one,) = re.findall(pattern, words(statements.describe([said])))
    (other,) = re.findall(pattern, paragraphs(said))
    assert one == other
    odds = said.resolve().channel.max_likelihood_ratio
    shown = Fraction(one[0].replace(",", ""))
    assert odds <= shown <= odds * Fraction("1.01")
    after = odds / (odds + 19)
    assert after <= Fraction(one[1]) / 100 <= after * Fraction("1.01")
    assert (shown - 1) / (odds - 1) <= Fraction("1.1")


def test_the_file_beside_is_named():
    """Text files have their document beside them: page and description say that both go out."""
    told = "The file beside it, out.csv.rrstats.json, records how the reports were made. The two"
    page = paragraphs(record(), file="out.csv", beside="out.csv.rrstats.json")
    assert told in page
    assert "document that travels with the data beside it, in out.csv.rrstats.json." in page
    assert told in words(statements.describe([record()], beside="out.csv.rrstats.json"))
    for shown in (paragraphs(record()), statements.describe([record()])):
        assert "belong together" not in shown
    assert "travels with the data in the file." in paragraphs(record())


@pytest.mark.parametrize("name", sorted(set(catalogue.EXAMPLES)))
@pytest.mark.parametrize("format", ["markdown", "html"])
def test_every_mechanism_has_a_page(name, format):
    """Each mechanism of the catalogue is described with its epsilon, rounded up."""
    mechanism = catalogue.EXAMPLES[name]()
    page = statement([record(mechanism)])
    epsilon = round_up(mechanism.epsilon)
    assert ("no protection is proven" if epsilon == "inf" else epsilon) in page
    assert statements.describe([record(mechanism)])
    shown = Reader(page.to_html()).text if format == "html" else words(page)
    first = float(expected_rates(mechanism.channel, np.eye(mechanism.domain.k))[0, 0])
    truth = pages.chance(first) if 0 < first < 1 else f"{first:.0%}"
    assert re.search(rf"(?<![\d.]){re.escape(truth)}", shown)


SEVERAL = {
    "unary": lambda: rr.mechanisms.UnaryEncoding.optimized(list("abc"), epsilon=1.0),
    "selection": lambda: rr.mechanisms.SubsetSelection(list("abcdef"), epsilon=1.0, size=2),
    "rappor": lambda: rr.mechanisms.Rappor(list("abc"), 0.5, 0.5, 0.75),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_a_report_of_several_answers_is_not_called_the_truth(name):
    """The table sends the reader to the sentence below."""
    mechanism = SEVERAL[name]()
    epsilon = round_up(mechanism.epsilon)
    row = f"| answer | {mechanism.k} | see below | {epsilon} |"
    page = paragraphs(record(mechanism))
    assert row in page
    assert "see below" in statements.describe([record(mechanism)])


def test_the_lifetime_of_kept_reports_is_on_the_page():
    """RAPPOR with f = 0.5 keeps bits of epsilon 2 ln 3, above the 0.537 of one report."""
    rappor = record(SEVERAL["rappor"]())
    for page in (paragraphs(rappor), words(statements.describe([rappor]))):
        assert "| 0.5372 |" in page or " 0.5372 " in page
        assert "Epsilon of everything that one first round reveals: 2.198." in page
        assert "all reports ever made from it" in page
    simulated = statements.describe([record(SEVERAL["rappor"](), simulated=True)])
    assert "2.198" not in simulated
    assert "first round" not in paragraphs(record(SEVERAL["unary"]()))


def test_the_rounds_of_a_chain_are_on_the_page():
    """Counted, with the probabilities of the final report and the epsilon of the first round.

    0.9 x 0.75 + 0.1 x 0.25 = 0.7; the first round's reports alone tell ln 9 = 2.1972.
    """
    chain = record(rr.KRR(["a", "b"], 0.9).then(rr.KRR(["a", "b"], 0.75)))
    for page in (paragraphs(chain), words(statements.describe([chain]))):
        assert "randomized 2 times in a row" in page
        assert "true answer with probability 70%, and the other answer with" in page
        assert "The result of the first round, or all reports ever made from it" in page
        assert "Epsilon of everything that one first round reveals: 2.198." in page
    assert "first round" not in paragraphs(record())


def test_a_general_design_is_a_table():
    """Never transposed; also where all truths but one are told alike."""
    mechanism = rr.MatrixDesign(list("abc"), catalogue.ASYMMETRIC.entries, reports=list("rstu"))
    page = paragraphs(record(mechanism))
    assert "| true answer | report: r | report: s | report: t | report: u |" in page
    assert "| a | 60% | 20% | 15% | 5% |" in page
    assert "| b | 5% | 70% | 5% | 20% |" in page
    assert f"| answer | 3 | see below | {round_up(mechanism.epsilon)} |" in page
    rows = [["3/4", "1/8", "1/8"], ["1/8", "3/4", "1/4"], ["1/8", "1/8", "5/8"]]
    distribution = [list(map(Fraction, row)) for row in rows]
    assert "| c | 12.5% | 25% | 62.5% |" in paragraphs(
        record(rr.MatrixDesign(list("abc"), distribution))
    )


def test_an_infinite_epsilon_is_no_protection():
    """Where some report proves an answer, the page opens with that."""
    distribution = [[1, 0, 0], [0, 1, 0.5], [0, 0, 0.5]]
    said = record(rr.MatrixDesign(list("abc"), distribution))
    page = statement([said])
    assert page.split("\n\n")[1].startswith("> **NO PROTECTION IS PROVEN for \u201canswer\u201d")
    assert "infinite: no protection is proven" in words(page)
    assert "| a | 100% | 0% | 0% |" in words(page)
    assert "a true answer: no protection is proven" in words(statements.describe([said]))


def test_long_lists_of_categories_are_described_by_their_number():
    """Above 100 categories the data hold a fingerprint: probabilities are known, labels are not."""
    mechanism = rr.KRR(range(50_000), epsilon=2)
    page = paragraphs(record(mechanism))
    assert "There are 50,000 possible answers, fixed beforehand. The file holds a fing" in page
    assert f"true answer with probability {pages.chance(mechanism.prob)}" in page
    assert "you must give the mechanism" in page
    assert "--plan" not in page


def test_rows_title_date_contact_and_question_are_shown():
    """Which file, how large, from when and whom, in one line; the question at its column."""
    told = {"rows": 12345, "title": "Wave *2*", "made": "2026-11-21", "file": "a_b.csv"}
    told |= {"wording": {"answer": "Did you *ever*?"}, "contact": "Data office <d@e.org>"}
    page = statement([record()], **told)
    assert page.startswith("# Wave \\*2\\*\n")
    said = f"Page of 2026-11-21, written by rrstats {rr.__version__}. Contact: Data office <d@"
    assert f"File: a_b.csv. Rows: 12,345. {said}" in words(page).replace("a\\_b", "a_b")
    assert "Column answer The question was: \u201cDid you *ever*?\u201d" in words(page)
    day = datetime.date.today()
    later = statement([record()])
    assert any(f"\n\nPage of {day}, written" in later for day in {day, datetime.date.today()})
    with pytest.raises(rr.errors.ArgumentValueError, match="wording must name privatized"):
        statement([record()], wording={"other": "?"})


def test_the_page_says_how_to_estimate_without_rrstats():
    """The formula of the page, by hand, gives the estimate of rrstats."""
    (truth, other) = re.findall(r"reports - ([\d.]+)\) / \(([\d.]+) - ", paragraphs(record()))[0][
        ::-1
    ]
    by_hand = (0.5 - float(other)) / (float(truth) - float(other))
    est = rr.estimate(["never"] * 50 + ["once"] * 30 + ["often"] * 20, KRR)
    assert est.proportions[0] == pytest.approx(by_hand, abs=1e-12)


def test_bad_arguments_are_refused():
    """Nothing to describe, and a date of another type."""
    refused(rr.errors.ArgumentValueError, ".", statement, [])
    refused(rr.errors.ArgumentTypeError, "made", statement, [record()], made=2026)


# -- written safely ------------------------------------------------------------------------


def test_html_runs_and_loads_nothing():
    """Names and categories are text: no tag comes from them, and no address is called."""
    mechanism = rr.KRR([NASTY, "b"], 0.75)
    page = statement([record(mechanism, NASTY)], title=NASTY, file=NASTY).to_html()
    plain = statement([record()], title="t", file="f").to_html()
    reader = Reader(page)
    assert {tag for tag, _ in Reader(plain).tags} == {tag for tag, _ in reader.tags}
    assert not {"script", "img", "link", "iframe", "a"} & {tag for tag, _ in reader.tags}
    assert not any(key.startswith(("on", "src", "href")) for _, at in reader.tags for key in at)
    assert "alert(1)" in reader.text
    for control in ("\x1b", "\u202e"):
        assert control not in page


def test_markdown_tables_and_headings_survive_any_label():
    """Each table row has as many cells as its header, and no line starts new markup."""
    mechanism = rr.KRR([NASTY, "|", "1. x", "- y"], 0.75)
    page = statement([record(mechanism, NASTY)], title=NASTY)
    prose = re.sub(r"^(`{3,})\n.*?^\1$", "", page, flags=re.M | re.S)
    for line in prose.splitlines():
        if line.startswith("|"):
            assert 5 == len(re.findall(r"(?<!\\)\|", line))
        assert "<script" not in line.replace("\\<", "")
        assert not re.search(r"(?<!\\)[*_`~$]", re.sub(r"^> \*\*|\*\*$", "", line))
    headings = [line for line in prose.splitlines() if line.startswith("#")]
    assert 1 == sum(line.startswith("# ") for line in headings)
    for control in ("\x1b", "\u202e", "\r"):
        assert control not in page


def test_code_on_a_page_cannot_be_closed_from_inside():
    """A name with backticks gets a longer fence."""
    page = statement([record(name="`````")], file="a```b.parquet")
    fences = re.findall(r"^`+$", page, re.M)
    assert "``````" in fences
    assert 0 == len(fences) % 2


@pytest.mark.parametrize(
    "text", ["1. a", "- a", "+ a", "= a", "12) a", "# a", "> a", "a\nb", "a_b_c", "&lt;", "\\", "|"]
)
def test_markup_at_the_start_of_a_paragraph_is_text(text):
    """A paragraph reads as what was written, on one line."""
    shown = pages.as_markdown([("text", text)])
    assert " ".join(text.split()) == re.sub(r"\\(\W|_)", r"\1", shown.strip())
    assert not re.match(r"[-+=#>]\s|\d+[.)]\s", shown)


def test_the_document_on_the_page_reads_back():
    """What stands at the end is the metadata document, complete, in both formats."""
    records = [record(), record(rr.KRR([1, None, 2], epsilon=1), NASTY, missing="unknown")]
    for page in (statement(records), Reader(statement(records).to_html()).text):
        (text,) = re.findall(r'^\{"v".*?^\]\}$', page, re.M | re.S)
        assert records == column_records.read({"rrstats": json.loads(text)})


# -- words ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prob", "shown"),
    [
        (0.5, "50%"),
        (0.99999, "99.999%"),
        (1 - 2**-40, "99.999999999909%"),
        (0.0, "0%"),
        (1.0, "100%"),
    ],
)
def test_a_chance_is_never_rounded_to_certainty(prob, shown):
    """Only 0 and 1 are shown as 0% and 100%; 1 - 2**-40 is 9.1e-13 below 1."""
    assert shown == pages.chance(prob)


def test_a_chance_is_close_in_odds():
    """What is shown is within a thousandth of both the chance and its complement."""
    for prob in np.random.default_rng(5).random(200).tolist():
        shown = float(pages.chance(prob)[:-1]) / 100
        assert prob == pytest.approx(shown, rel=0.0011)
        assert 1 - prob == pytest.approx(1 - shown, rel=0.0011)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\tb\n", "a\\tb\\n"),
        ("\x1b]0;x\x07", "\\x1b]0;x\\x07"),
        ("\u202eabc", "\\u202eabc"),
        ("\ud800", "\\ud800"),
        ("\u0646\u200c\u0645", "\u0646\u200c\u0645"),
        ("  ", "'  '"),
        (None, "(no answer)"),
        (b"\x00", "b'\\\\x00'"),
        (("a", 1), "('a', 1)"),
    ],
)
def test_labels_are_harmless(value, shown):
    """Nothing in a label moves the cursor or turns the direction of the text."""
    assert shown.replace("\\\\", "\\") == pages.label(value)
