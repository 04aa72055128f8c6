"""Survey designs: each distribution against its cards and dice, played through one by one.

`YES_OR_NO` tells what a respondent does, draw by draw, without any formula; `distribution_of`
plays it for every outcome of every draw, in fractions.
"""

import itertools
import math
import time
import warnings
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES, SILENT
from guide_designs import by_matrix
from refusals import refused
from scripted import Counting

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LowPrecisionWarning,
    MetadataError,
    NotIdentifiableError,
)
from rrstats.mechanisms import from_dict, surveys
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.records import ColumnRecord
from rrstats.mechanisms.survey_design import DESIGNS, SurveyDesign
from rrstats.privacy.fieldwork import examples

F = Fraction
P, A, T = F(7, 10), F(2, 9), F(3, 8)  # generic: nothing here is symmetric or equal


class Fork(Exception):
    """A draw whose outcome is not yet chosen."""


def distribution_of(play, *truth):
    """P(report) of someone with this truth: every sequence of draws, each with its chance."""
    distribution, todo = defaultdict(Fraction), [((), F(1))]
    while todo:
        path, chance = todo.pop()
        rest = iter(path)

        def draw(odds, rest=rest):
            for outcome in rest:
                return outcome
            raise Fork(odds)

        try:
            distribution[play(draw, *truth)] += chance
        except Fork as fork:
            todo += [((*path, value), chance * p) for value, p in fork.args[0].items() if p]
    assert sum(distribution.values()) == 1
    return distribution


def coin(p):
    return {True: p, False: 1 - p}


def unrelated(draw, has):
    return has if draw(coin(P)) else draw(coin(A))


def cards(draw, has):
    """Warner's: of the two statements, the card says which one is answered."""
    return has if draw(coin(P)) else not has


HALF, OF_CARDS = coin(F(1, 2)), {"prob_sensitive": P, "prob_yes_unrelated": A}
# What a respondent does who has it or not, draw by draw; the answer is True for yes.
YES_OR_NO = {
    "two_coin": (lambda draw, has: has if draw(HALF) else draw(HALF), {}),
    "warner": (cards, {"prob_statement": P}),
    "crosswise": (lambda draw, has: has == draw(coin(P)), {"prob_unrelated": P}),
    "triangular": (lambda draw, has: draw(coin(P)) or has, {"prob_unrelated": P}),
    "unrelated_question": (unrelated, OF_CARDS),
    "mangat": (lambda draw, has: has or cards(draw, has), {"prob_statement": P}),
}

# What respondents do in designs without a function, beside a design that has their matrix.
OF_ANOTHER_DESIGN = {
    "disguised response": (
        lambda draw, has: draw(coin(P if has else 1 - P)),
        lambda: surveys.warner(["not", "has"], P, yes="has"),
        lambda: surveys.kuk(["not", "has"], P, 1 - P, yes="has", reports=["black", "red"]),
    ),
    "Soberanis Cruz": (
        unrelated,
        lambda: surveys.unrelated_question(["not", "has"], P, A, yes="has"),
    ),
    "Devore": (
        lambda draw, has: has if draw(coin(P)) else True,
        lambda: surveys.mangat(["not", "has"], P, yes="has"),
        lambda: surveys.forced_response(["not", "has"], P, [0, 1 - P]),
    ),
}
BY_MATRIX = {
    "mangat_singh": (lambda draw, has: has if draw(coin(T)) else cards(draw, has), (T, P)),
    "mangat_unrelated_question": (
        lambda draw, has: has if draw(coin(T)) else unrelated(draw, has),
        (T, P, A),
    ),
    # Who has it takes a second card where the first asks for the other statement.
    "singh_joarder": (lambda draw, has: has == (draw(coin(P)) or (has and draw(coin(P)))), (P,)),
    "mangat_singh_singh": (
        lambda draw, has: has or (not draw(coin(P)) and draw(coin(A))),
        (P, A),
    ),
}


def entry(m, report, truth):
    """P(report | truth) of a mechanism, both by their labels."""
    row = m.channel.entries[m.report_space.code(report)]
    return row[m.domain.code(truth)]


@pytest.mark.parametrize("order", [(False, True), (True, False)])
@pytest.mark.parametrize("name", YES_OR_NO)
def test_yes_or_no(name, order):
    """The matrix is what the cards give, whichever category comes first."""
    play, numbers = YES_OR_NO[name]
    m = getattr(surveys, name)(["has", "not"][:: 1 if order[0] else -1], yes="has", **numbers)
    word = {True: "has", False: "not"}
    assert m.report_space == m.domain
    for truth, report in itertools.product(order, repeat=2):
        assert distribution_of(play, truth)[report] == entry(m, word[report], word[truth])


@pytest.mark.parametrize("name", OF_ANOTHER_DESIGN)
def test_a_design_without_a_function_has_the_matrix_of_another(name):
    """The designs that docstrings name do what its respondents do, in the same probabilities."""
    play, *makers = OF_ANOTHER_DESIGN[name]
    for make in makers:
        m = make()
        label_no, label_yes = m.report_space.categories
        label = {False: label_no, True: label_yes}
        for truth, report in itertools.product([True, False], repeat=2):
            assert distribution_of(play, truth)[report] == entry(
                m, label[report], "has" if truth else "not"
            )


@pytest.mark.parametrize("name", BY_MATRIX)
def test_yes_or_no_by_matrix(name):
    """The matrices of the guide are what the cards give."""
    play, numbers = BY_MATRIX[name]
    m = getattr(by_matrix, name)(*numbers)
    word = {True: "yes", False: "no"}
    for truth, report in itertools.product([True, False], repeat=2):
        assert distribution_of(play, truth)[report] == entry(m, word[report], word[truth])


@pytest.mark.parametrize("reverse", [False, True])
def test_forced_response(reverse):
    """A die tells the truth to be told, or dictates one of k answers; by list or by mapping."""
    forced = {"a": F(1, 10), "b": F(1, 5), "c": F(1, 20)}
    categories = sorted(forced, reverse=reverse)

    def play(draw, truth):
        dictated = draw({None: F(13, 20), **forced})
        return truth if dictated is None else dictated

    m = surveys.forced_response(categories, F(13, 20), forced)
    assert m == surveys.forced_response(categories, F(13, 20), [forced[c] for c in categories])
    for truth, report in itertools.product(categories, repeat=2):
        assert distribution_of(play, truth)[report] == entry(m, report, truth)
    assert m.epsilon == pytest.approx(math.log(F(14, 20) / F(1, 20)), rel=1e-15)
    assert m.channel.binomial_rates is not None


def test_forced_response_of_doubles():
    """Sixths as doubles do not sum to 1 exactly; they are normalized, and columns do."""
    m = surveys.forced_response([False, True], 4 / 6, [1 / 6, 1 / 6])
    total = Fraction(4 / 6) + 2 * Fraction(1 / 6)
    assert total != 1
    assert entry(m, True, False) == Fraction(1 / 6) / total
    assert m.parameters == {"prob_truth": 4 / 6, "prob_forced": (1 / 6, 1 / 6)}


@pytest.mark.parametrize("categories", [["has", "not"], ["not", "has"]])
def test_kuk(categories):
    """The number of red cards in several draws from one's own stack, none at all included."""
    if_yes, if_no = F(2, 3), F(1, 5)

    def play(draw, truth):
        red = coin(if_yes if truth == "has" else if_no)
        return sum(draw(red) for _ in range(3))

    m = surveys.kuk(categories, if_yes, if_no, 3, yes="has")
    assert m.report_space.categories == (0, 1, 2, 3)
    for truth, report in itertools.product(categories, range(4)):
        assert distribution_of(play, truth)[report] == entry(m, report, truth)
    yes = m.channel.inverse[categories.index("has")]
    assert yes == tuple((F(z, 3) - if_no) / (if_yes - if_no) for z in range(4))
    # Independent draws: three times the loss of one, here of a red card.
    assert m.epsilon == pytest.approx(3 * math.log(if_yes / if_no), rel=1e-15)


def test_christofides():
    """The mark of a card, turned around by those who have it; the mean mark estimates."""
    deck = [F(1, 10), F(1, 5), F(3, 10), F(2, 5)]

    def play(draw, truth):
        mark = draw(dict(enumerate(deck, start=1)))
        return 5 - mark if truth == "yes" else mark

    m = by_matrix.christofides(deck)
    assert m.report_space.categories == (1, 2, 3, 4)
    for truth, report in itertools.product(["no", "yes"], range(1, 5)):
        assert distribution_of(play, truth)[report] == entry(m, report, truth)
    yes = m.channel.inverse[1]
    assert yes == tuple((z - 3) / (5 - F(6)) for z in range(1, 5))
    assert m.epsilon == pytest.approx(math.log(4), rel=1e-15)


def test_christofides_with_a_balanced_deck():
    """Where the mean mark tells nothing, the rest of the deck still may."""
    deck = [F(1, 5), F(2, 5), 0, 0, F(2, 5)]
    m = rr.MatrixDesign(["no", "yes"], list(zip(deck, deck[::-1], strict=True)))
    assert sum(mark * p for mark, p in enumerate(deck, start=1)) == 3
    assert m.channel.matrix.T @ m.channel.scores(np.arange(5)) == pytest.approx(np.eye(2))


def test_two_answers_of_each():
    """Pairs of answers from two boxes, for all four kinds of people; the trait cancels."""
    boxes = [F(3, 5), F(1, 7)]

    def unrelated_each(draw, has, trait):
        return tuple(has if draw(coin(T)) or draw(coin(p)) else trait for p in boxes)

    def of_no_each(draw, has, trait):
        return tuple(has or (not draw(coin(p)) and trait) for p in boxes)

    pairs = by_matrix.unrelated_question_two_answers(*boxes, T)
    by_pairs = by_matrix.mangat_singh_singh_two_answers(*boxes)
    p1, p2 = boxes
    word = {True: "yes", False: "no"}
    for m, play in ((pairs, unrelated_each), (by_pairs, of_no_each)):
        assert m.categories == ("no", "yes")
        assert m.domain.categories == tuple(itertools.product(["no", "yes"], [True, False]))
        for x, y in itertools.product([True, False], repeat=2):
            distribution = distribution_of(play, x, y)
            for report in itertools.product([True, False], repeat=2):
                assert distribution[report] == entry(
                    m, tuple(word[r] for r in report), (word[x], y)
                )
        for i, j in itertools.product([False, True], repeat=2):
            yes = ((1 - p2) * i - (1 - p1) * j) / (p1 - p2)
            place = m.report_space.code((word[i], word[j]))
            assert m.channel.inverse[1][place] == yes
        assert m.epsilon == math.inf


def test_two_answers_are_privatized_by_class():
    """True answers are pairs of category and trait."""
    m = by_matrix.unrelated_question_two_answers(0.6, 0.3)
    reports = rr.privatize([("yes", True), ("no", False)] * 20, m, rng=Counting(1))
    assert reports == [("yes", "yes"), ("no", "no")] * 20
    assert rr.estimate(reports, m).proportions == pytest.approx([0.5, 0.5])


def test_reports_may_be_read_for_other_classes():
    """Two answers of each also tell how many have the unrelated trait."""
    m = by_matrix.unrelated_question_two_answers(0.6, 0.3)
    truth = np.array([0.1, 0.5, 0.25, 0.15])  # no with it, no without, yes with it, yes without
    counts = (m.channel.matrix @ truth * 100_000).round().astype(int)
    est = rr.estimate(rr.Tally.from_counts(counts, m))
    assert est.proportions == pytest.approx([0.6, 0.4], abs=1e-9)
    trait = est.merge(
        {
            value: [pair for pair in m.domain.categories if pair[1] == value]
            for value in (True, False)
        }
    )
    assert trait[True].value == pytest.approx(0.35)
    assert est.merge().proportions == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("order", [["has", "not"], ["not", "has"]])
def test_crosswise_with_anchor(order):
    """Attentive people answer both crosswise questions, of which nobody has the second."""
    p, anchor = F(3, 20), F(1, 4)

    def play(draw, truth):
        if truth == "inattentive":
            return tuple(draw(coin(F(1, 2))) for _ in range(2))
        return (truth == "has") == draw(coin(p)), draw(coin(anchor)) is False

    m = surveys.crosswise_with_anchor(
        order, p, anchor, yes="has", reports=["s", "d"] if order[0] == "has" else ["d", "s"]
    )
    assert m.categories == (*order, "inattentive")
    word = {True: "s", False: "d"}
    for truth in m.categories:
        distribution = distribution_of(play, truth)
        for report in itertools.product([True, False], repeat=2):
            assert distribution[report] == entry(m, tuple(word[x] for x in report), truth)


def test_the_anchor_needs_margins_only():
    """However the answers of inattentive people go together, the estimate stays unbiased."""
    m = surveys.crosswise_with_anchor([0, 1], F(3, 20), F(1, 4), yes=1)
    columns = list(zip(*m.channel.entries, strict=True))
    # They give the same answer twice: margins of 1/2, and no independence.
    columns[2] = tuple(F(1, 2) * (first == second) for first, second in m.report_space.categories)
    for truth, column in enumerate(columns):
        for category, row in enumerate(m.channel.inverse):
            mean = sum(x * p for x, p in zip(row, column, strict=True))
            assert mean == int(truth == category)


def test_samples_of_an_unrelated_question():
    """Each sample's matrix is that of its box, for people with and without the trait."""
    m = surveys.unrelated_question_two_samples(["no", "yes"], {"A": P, "B": F(1, 4)}, yes="yes")
    assert m.groups == ("A", "B")
    assert m.categories == ("no", "yes")
    for p, part in zip([P, F(1, 4)], m.parts, strict=True):
        for category, trait in m.domain.categories:
            distribution = distribution_of(
                lambda draw, x, y, p=p: x if draw(coin(p)) else y, category == "yes", trait
            )
            assert distribution[True] == entry(part, "yes", (category, trait))
    assert m.epsilon == math.inf


def test_samples_with_cheaters():
    """Honest people do what the card says, cheaters say no."""
    yes, no = [F(1, 5), F(1, 2)], [F(1, 10), F(1, 4)]
    m = surveys.cheater_detection([0, 1], yes, no, yes=1)
    assert m.groups == (1, 2)
    assert m.categories == (0, 1, "cheater")
    for forced_yes, forced_no, part in zip(yes, no, m.parts, strict=True):

        def play(draw, truth, forced_yes=forced_yes, forced_no=forced_no):
            if truth == "cheater":
                return 0
            # By the authors: the card of a no dictates a yes, that of a yes a no.
            if truth == 1:
                return 0 if draw(coin(forced_no)) else 1
            return 1 if draw(coin(forced_yes)) else 0

        for truth in m.categories:
            assert distribution_of(play, truth)[1] == entry(part, 1, truth)
    once = surveys.cheater_detection([0, 1], yes, yes=1)
    assert [part.parameters["prob_forced_no"] for part in once.parts] == [0, 0]


def test_samples_with_liars():
    """Those who have it say yes, or lie; the others answer by Warner's cards."""
    m = surveys.stochastic_lie_detector(["no", "yes"], [F(1, 6), F(5, 6)], yes="yes")
    assert set(m.domain.categories) == {("yes", "honest"), ("yes", "lying"), ("no", "honest")}
    assert m.categories == ("no", "yes")
    for p, part in zip([F(1, 6), F(5, 6)], m.parts, strict=True):
        assert entry(part, "yes", ("yes", "honest")) == 1
        assert entry(part, "yes", ("yes", "lying")) == 0
        assert entry(part, "yes", ("no", "honest")) == 1 - p


def test_no_two_designs_are_equal():
    """Equality is by the design and all that describes it, not by the matrix alone."""
    warner = surveys.warner([0, 1], 0.75, yes=1)
    assert warner == surveys.warner([0, 1], F(3, 4), yes=1, reports=[0, 1])
    others = [
        surveys.warner([0, 1], 0.75, yes=0),
        surveys.warner([1, 0], 0.75, yes=1),
        surveys.warner([0, 1], 0.7, yes=1),
        surveys.warner([0, 1], 0.75, yes=1, reports=["n", "y"]),
        surveys.crosswise([0, 1], 0.75, yes=1),
    ]
    assert len({warner, *others}) == 6


def test_reports_may_have_labels_of_their_own():
    """Labels of reports stand in the order of the categories, or of the numbers."""
    m = surveys.crosswise(["no", "yes"], 0.25, yes="yes", reports=["different", "same"])
    assert entry(m, "same", "yes") == F(1, 4)
    turned = surveys.crosswise(["yes", "no"], 0.25, yes="yes", reports=["same", "different"])
    assert entry(turned, "same", "yes") == F(1, 4)
    with pytest.raises(ArgumentValueError, match="reports must be 2 labels, in the order of"):
        surveys.crosswise(["no", "yes"], 0.25, yes="yes", reports=["a", "b", "c"])
    with pytest.raises(
        ArgumentValueError, match=r"reports must be 4 labels, in the order of \[0, 1"
    ):
        surveys.kuk(["no", "yes"], 0.25, 0.5, 3, yes="yes", reports=["none", "one"])


NO_YES, BOOL, AB = ["no", "yes"], [False, True], ["a", "b"]
OF_AB = r"one number for each of the categories \['a', 'b'\], found"
BAD = {
    "kuk": [((BOOL, 0.5, 0.2), {"draws": 0}, r"draws must be in \[1, 100\], got 0")],
    "unrelated_question": [((BOOL, 0.7, -0.1), {}, r"unrelated must be in \[0, 1\], got -0.1")],
    "warner": [
        ((NO_YES, 0.7), {}, r"yes must be the sensitive one of \['no', 'yes'\], got None"),
        ((NO_YES, 0.7), {"yes": "Yes"}, "the sensitive one of .*, got 'Yes'"),
        ((["a", "b", "c"], 0.7), {"yes": "a"}, "must be two .* found 3; for more categories use"),
        ((BOOL, 1), {}, r"prob_statement must be in \(0, 1\), got 1"),
        *(((BOOL, p), {}, "prob_statement must be finite numb") for p in (math.nan, "0.7", True)),
    ],
    "forced_response": [
        ((AB, 0.5, [0.25, 0.2]), {}, "prob_truth and prob_forced together must sum to 1"),
        ((AB, 0.5, {"a": 0.25, "c": 0.25}), {}, rf"{OF_AB} numbers for \['a', 'c'\]"),
        (
            (AB, 0.5, 0.25),
            {},
            "prob_forced must be a list of numbers, or a mapping such as {'no': 1/6",
        ),
        ((AB, 0.5, [0.75, -0.25]), {}, r"each of prob_forced must be in \[0, 1\], got -0.25"),
    ],
    "unrelated_question_two_samples": [
        ((BOOL, 0.7), {}, "prob_sensitive must be a list of numbers"),
        ((BOOL, [0.7]), {}, "one number for each of at least 2 samples, found 1"),
    ],
    "cheater_detection": [
        ((BOOL, {"A": 0.2, "B": 0.5}, [0.1, 0.2]), {}, "for the same samples"),
        ((BOOL, [0.8, 0.5], [0.7, 0.2]), {}, r"must sum to at most 1, found 1\.5"),
    ],
    "extended_crosswise": [
        ((BOOL, [0.2]), {}, "one number for each of at least 2 samples, found 1"),
        ((BOOL, 0), {}, r"prob_unrelated must be in \(0, 1\), got 0"),
        (
            (BOOL, 0.5),
            {},
            "must differ between the samples, found the same number",
        ),
        ((BOOL, 0.2), {"behaviour": "same"}, r"behaviour must be one of the reports .* got 'same'"),
    ],
    "SurveyDesign": [
        (("of_glmmrr", BOOL), {}, "design must be one of .* got 'of_glmmrr'"),
        (("direct", AB), {"yes": "a"}, r"'direct' has the parameters \[\], found \['yes'\]"),
        (("warner", BOOL), {"p": 0.7}, r"\['prob_statement', 'yes'\], found \['p', 'yes'\]"),
    ],
}


@pytest.mark.parametrize(
    ("name", "arguments", "options", "message"),
    [(name, *case) for name, cases in BAD.items() for case in cases],
)
def test_bad_input(name, arguments, options, message):
    """Bad arguments are refused with the rule, the allowed range and what was found."""
    make = SurveyDesign if name == "SurveyDesign" else getattr(surveys, name)
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=message):
        make(*arguments, **options)


def test_designs_are_registered_with_the_arguments_of_their_documents():
    """Each registered design, and no other, has a document with just the registered arguments."""
    designs = [
        surveys.warner(["no", "yes"], 0.75, yes="yes", deck=4),
        surveys.forced_response(["no", "yes"], 0.5, [0.25, 0.25], deck=4),
    ]
    one_sayers = surveys.extended_crosswise(["no", "yes"], 0.25, yes="yes", behaviour="no")
    for example in [*examples().values(), one_sayers]:
        designs += getattr(example, "parts", [example])
    for m in designs:
        arguments = [*m.parameters, *(["yes"] if m.yes is not None else [])]
        assert sorted(arguments) == sorted(DESIGNS[m.design].arguments)
        assert from_dict(m.to_dict()) == m
    assert {m.design for m in designs} == set(DESIGNS)


def test_a_document_cannot_name_a_helper():
    """The designs of documents are those registered, not what the module happens to contain."""
    document = {
        "type": "SurveyDesign",
        "design": "of_glmmrr",
        "categories": [{"bool": False}, {"bool": True}],
        "yes": {"bool": True},
        "parameters": {"design": "1/2", "p1": 0.7, "p2": 0.5},
    }
    refused(MetadataError, "design must be one of .* got 'of_glmmrr'", from_dict, document)


def test_public_designs_are_listed():
    """`rr.surveys` lists each design, those of several samples, and `by_row`."""
    public = {name for name, design in DESIGNS.items() if design.make.__name__[0] != "_"}
    of_several_samples = {
        "extended_crosswise",
        "unrelated_question_two_samples",
        "cheater_detection",
        "stochastic_lie_detector",
        "list_experiment",
    }
    public.add("garbling")  # its argument into is the yes of the document
    assert set(surveys.__all__) == public | of_several_samples | {"by_row", "sum_of"}


ANSWERS = pd.Series(["HIV-Alice", "HIV-Bob", "HIV-Carol"] * 10)


@pytest.mark.parametrize(
    "call",
    [
        lambda: surveys.warner([False, True], ANSWERS),
        lambda: surveys.warner([False, True], ANSWERS.tolist()),
        lambda: surveys.warner([False, True], ANSWERS.to_numpy()),
        lambda: surveys.warner([False, True], 0.7, yes=ANSWERS),
        lambda: surveys.warner([False, True], 0.7, yes=ANSWERS.to_frame()),
        lambda: surveys.warner([False, True], 0.7, yes=tuple(ANSWERS)),
        lambda: surveys.warner([False, True], 0.7, yes=",".join(ANSWERS)),
        lambda: surveys.warner([False, True], 0.7, reports=ANSWERS),
        lambda: surveys.kuk([False, True], 0.7, 0.5, draws=ANSWERS),
        lambda: surveys.forced_response([0, 1], 0.5, ANSWERS),
        lambda: surveys.cheater_detection([False, True], ANSWERS),
        lambda: surveys.cheater_detection([False, True], [0.2, 0.3], ANSWERS),
        lambda: SurveyDesign(ANSWERS, [False, True]),
        lambda: SurveyDesign("warner", [False, True], prob_statement=ANSWERS),
    ],
)
def test_answers_are_never_quoted(call):
    """Who passes answers in the place of an argument reads their type, never an answer."""
    with pytest.raises(rr.errors.RRStatsError) as caught:
        call()
    assert "HIV" not in str(caught.value)


def test_long_lists_are_cut():
    """Errors list no more than a few of the labels of a mapping."""
    many = dict.fromkeys(range(100), 0.01)
    for call in (
        lambda: surveys.forced_response(["a", "b"], 0.5, many),
        lambda: surveys.cheater_detection([False, True], many, [0.1, 0.2]),
    ):
        refused(ArgumentValueError, r"\[0, 1, 2, 3, 4, 5, \.\.\. 100 in all\]", call)


def test_a_series_of_numbers_is_read_by_its_labels():
    """Numbers in a Series stand by category or by sample, not in the order of the rows."""
    forced = pd.Series({"b": 0.375, "a": 0.125})
    m = surveys.forced_response(["a", "b"], 0.5, forced)
    assert m == surveys.forced_response(["a", "b"], 0.5, [0.125, 0.375])
    with pytest.raises(ArgumentValueError, match=r"found numbers for \[0, 1\]"):
        surveys.forced_response(["a", "b"], 0.5, pd.Series([0.125, 0.375]))
    with pytest.raises(ArgumentValueError, match=r"found numbers for \['a', 'b', 'b'\]"):
        surveys.forced_response(["a", "b"], 0.5, pd.Series([0.1, 0.1, 0.3], index=list("abb")))
    boxes = {"B": 0.3, "A": 0.7}
    m = surveys.unrelated_question_two_samples([False, True], pd.Series(boxes))
    assert m == surveys.unrelated_question_two_samples([False, True], boxes)
    with pytest.raises(
        ArgumentValueError, match=r"each of at least 2 samples, found numbers for \['A', 'A'\]"
    ):
        surveys.cheater_detection([False, True], pd.Series([0.2, 0.5], index=["A", "A"]))


def test_why_a_design_tells_nothing():
    """The error says what to change: the probability, or one of the samples."""
    for m in (
        surveys.warner([False, True], 0.5),
        surveys.kuk([False, True], 0.3, 0.3, draws=2),
        surveys.forced_response([False, True], 0, [0.25, 0.75]),
    ):
        with pytest.raises(
            NotIdentifiableError,
            match=r"condition number .* no information; choose another probability",
        ):
            rr.estimate([m.report_space.categories[0]], m)
    for m in (
        surveys.unrelated_question_two_samples([False, True], [0.7, 0.7]),
        surveys.cheater_detection([False, True], [0.2, 0.2, 0.2]),
        surveys.stochastic_lie_detector([False, True], [0.2, 0.2]),
    ):
        samples = list(m.groups)
        with pytest.raises(
            NotIdentifiableError, match=r"condition number .* the samples must differ"
        ):
            rr.estimate([True, False] * len(samples), m, group=samples * 2)


def test_a_report_of_nobody():
    """Reports that the design cannot make are refused, with how many there are."""
    m = surveys.kuk([False, True], 1, 0.5, draws=2)
    assert m.epsilon == math.inf
    certain = surveys.forced_response(["a", "b", "c"], 0, [0.5, 0.5, 0])
    with pytest.raises(ArgumentValueError, match="2 of 5 reports are impossible in this design"):
        rr.estimate(["a", "b", "a", "c", "c"], certain)
    refused(ArgumentValueError, "1 of 3 reports are not among", rr.estimate, [0, 1, 3], m)


def test_reading_for_the_classes_keeps_the_scores():
    """`about` without a mapping gives the same estimate where classes are categories."""
    kuk = surveys.kuk(["no", "yes"], 0.7, 0.3, yes="yes", draws=4)
    est = rr.estimate(rr.Tally.from_counts([120, 260, 300, 210, 110], kuk))
    assert est.proportions.tolist() == est.merge().proportions.tolist()


@pytest.mark.parametrize(
    "build",
    [
        lambda: surveys.crosswise(["no", "yes"], 0.5, yes="yes"),
        lambda: surveys.kuk([False, True], 0.3, 0.3, draws=2),
        lambda: surveys.unrelated_question_two_samples([False, True], [0.7, 0.7]),
        lambda: rr.MatrixDesign(["a", "b"], [[0.25, 0.25], [0.75, 0.75]]),
        lambda: rr.MatrixDesign(list("abc"), [[0.5, 0.25, 0.375], [0.5, 0.75, 0.625]]),
    ],
)
def test_a_design_without_information_warns_when_it_is_built(build):
    """Before the field work: an estimate would be refused only after it."""
    with pytest.warns(LowPrecisionWarning, match="carries no information by itself"):
        build()


def test_a_design_with_information_does_not_warn():
    """Nor does one whose samples only together tell the proportions."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in EXAMPLES.keys() - SILENT:
            EXAMPLES[name]()
        deck = [F(1, 5), F(2, 5), 0, 0, F(2, 5)]
        rr.MatrixDesign(["no", "yes"], list(zip(deck, deck[::-1], strict=True)))


@pytest.mark.parametrize(
    "build",
    [
        lambda p: surveys.kuk([False, True], p, 0.5, draws=100),
        lambda p: from_dict(
            {
                "type": "MatrixDesign",
                "categories": list(range(40)),
                "matrix": [[f"1/{10**999 + row}" for _ in range(40)] for row in range(40)],
            }
        ),
    ],
)
def test_the_cost_of_long_fractions_is_bounded(build):
    """Fractions of 1,000 digits, which took 40 seconds, are refused at the door."""
    began = time.perf_counter()
    refused(ArgumentValueError, "digits", build, F(1, 10**999 + 7))
    assert time.perf_counter() - began < 3


def test_refusals_of_documents_are_short():
    """Whatever stands in a document, a refusal quotes at most 200 characters of it."""
    long, krr = "x" * 100_000, {"type": "KRR", "categories": ["a", "b"], "prob": 0.5}
    whole = {"name": "a", "mechanism": krr}
    for read, document in (
        (from_dict, {"type": long}),
        (from_dict, krr | {long: 1}),
        (from_dict, krr | {"categories": [long, long]}),
        (from_dict, krr | {"type": "SurveyDesign", "design": long}),
        (from_dict, krr | {"type": "MatrixDesign", "matrix": [[long]]}),
        (column_records.read, {"rrstats": {"v": long}}),
        (ColumnRecord.from_dict, whole | {long: 1}),
        (ColumnRecord.from_dict, whole | {"name": long, "unknown": 1}),
        (ColumnRecord.from_dict, whole | {"simulated": long}),
        (ColumnRecord.from_dict, whole | {"missing": long}),
    ):
        with pytest.raises(MetadataError) as caught:
            read(document)
        assert str(caught.value).count("x") <= 210


DECKS = [
    rr.surveys.garbling(["no", "yes"], 1 - 0.95, into="no", deck=20, reports=["a", "b"]),
    rr.surveys.garbling(["no", "yes"], 1 / 3),
    rr.surveys.warner(["no", "yes"], 0.75, yes="yes", deck=8),
    rr.surveys.forced_response(["no", "yes"], 2 / 3, [1 / 6, 1 / 6], deck=6),
]


@pytest.mark.parametrize("deck", DECKS, ids=repr)
def test_a_deck_prints_the_call_that_makes_it(deck):
    """It is also one when it is made by its name in documents, with an infinite epsilon."""
    names = {"surveys": rr.surveys, "Fraction": Fraction}
    assert deck == eval(repr(deck), names)
    again = SurveyDesign(deck.design, deck.asked.categories, yes=deck.yes, **deck.parameters)
    assert (deck.deck, math.inf) == (again.deck, again.epsilon)


def test_into_is_one_of_the_categories():
    """The message names the argument as the user gave it."""
    garbling = rr.surveys.garbling
    refused(ArgumentValueError, "into must be one of", garbling, ["no", "yes"], 0.25, into="maybe")
    refused(ArgumentValueError, "into must be one of", garbling, ["a", "b"], 0.25)
