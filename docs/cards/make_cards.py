"""Write an instruction page for each survey design beside this file; the site's build runs it.

python docs/cards/make_cards.py
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import rrstats as rr
from rrstats import surveys

QUESTION = "In the last twelve months, have you driven a car after more than two drinks?"
SECOND = "Was your mother born in January, February or March?"
ASKED: Any = (["no", "yes"],)
YES = {"yes": "yes"}
LABELS = {
    "disguised_response": ["black", "red"],
    "crosswise": ["different", "same"],
    "triangular": ["circle", "triangle"],
}

NUMBERS: dict[str, dict[str, Any]] = {
    "two_coin": {},
    "warner": {"prob_statement": 0.7},
    "disguised_response": {"prob_red": 0.8},
    "crosswise": {"prob_unrelated": 0.25},
    "triangular": {"prob_unrelated": 0.25},
    "unrelated_question": {"prob_sensitive": 0.7, "prob_yes_unrelated": 0.25},
    "soberanis_cruz": {"prob_sensitive": 0.7, "prob_yes_unrelated": 0.5},
    "mangat": {"prob_statement": 0.7},
    "devore": {"prob_sensitive": 0.75},
    "mangat_singh": {"prob_truth": 0.4, "prob_statement": 0.7},
    "mangat_unrelated_question": {
        "prob_truth": 0.4,
        "prob_sensitive": 0.7,
        "prob_yes_unrelated": 0.5,
    },
    "mangat_singh_singh": {"prob_sensitive": 0.6, "prob_yes_unrelated": 0.5},
    "singh_joarder": {"prob_statement": 0.6},
    "kuk": {"prob_red_if_yes": 0.8, "prob_red_if_no": 0.2, "draws": 2},
    "christofides": {"prob_marks": [0.5, 0.3, 0.2]},
    "unrelated_question_two_answers": {"prob_sensitive": [0.6, 0.8]},
    "mangat_singh_singh_two_answers": {"prob_sensitive": [0.6, 0.8]},
    "crosswise_with_anchor": {"prob_unrelated": 0.15, "prob_unrelated_anchor": 0.15},
    "unrelated_question_two_samples": {"prob_sensitive": {"A": 0.7, "B": 0.3}},
    "cheater_detection": {"prob_forced_yes": {"A": 0.2, "B": 0.6}},
    "stochastic_lie_detector": {"prob_statement": {"A": Fraction(1, 6), "B": Fraction(5, 6)}},
}
"""The numbers of each design with a yes and a no."""


def designs() -> dict[str, rr.Mechanism]:
    """Each design by its name in `rr.surveys`."""
    found: dict[str, Any] = {
        "direct": surveys.direct(*ASKED),
        "forced_response": surveys.forced_response(
            *ASKED, Fraction(4, 6), [Fraction(1, 6), Fraction(1, 6)]
        ),
    }
    for name, numbers in NUMBERS.items():
        labels = {"reports": LABELS[name]} if name in LABELS else {}
        found[name] = getattr(surveys, name)(*ASKED, **numbers, **YES, **labels)
    return found


def pages() -> dict[str, Any]:
    """The instructions by the name of the file; those with a second question in two ways."""
    found = {}
    for name, design in designs().items():
        for group in design.groups or [None]:
            stem = name if group is None else f"{name}_{group}"
            found[stem] = rr.privacy.instructions(design, QUESTION, group=group)
    found["crosswise_birthday"] = rr.privacy.instructions(
        designs()["crosswise"], QUESTION, unrelated=SECOND
    )
    found["krr_three_answers"] = rr.privacy.instructions(
        rr.KRR(["never", "once", "more often"], 0.5),
        "In the last twelve months, how often have you driven a car after more than two drinks?",
    )
    return found


if __name__ == "__main__":
    for stem, page in pages().items():
        Path(__file__).with_name(f"{stem}.html").write_text(page.to_html(), "utf-8")
