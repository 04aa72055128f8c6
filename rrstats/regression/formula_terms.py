"""Terms of a formula that are read from its text, before formulaic sees the rest.

``(1 | county)`` is lme4's random intercept of the groups of a column; what follows a ``|`` outside
of parentheses explains the classes of people that nobody saw, as in pscl's ``zeroinfl``.
"""

from __future__ import annotations

import re
from typing import Any

from rrstats._checks import check_instance
from rrstats.errors import ArgumentValueError

_GROUP_TERM = re.compile(r"\(([^()|]*)\|+([^()|]*)\)")
"""An effect and the column of its groups."""

_INTERCEPT_TERM = "(1 | county)"

_BRACKETS = re.compile(r"`[^`]*`|\"[^\"]*\"|'[^']*'|[][(){}|]")
"""Quoted texts, brackets and bars of a formula."""


def split_intercepts(formula: str) -> tuple[str, str]:
    """A formula without its random intercept, and the column of the groups."""
    check_instance(formula, "formula", str, f"a text, such as 'smoker ~ age + {_INTERCEPT_TERM}'")
    terms = list(_GROUP_TERM.finditer(formula))
    if len(terms) != 1:
        raise ArgumentValueError(
            f"formula must have one random intercept, such as {_INTERCEPT_TERM}, found "
            f"{len(terms)} in '{formula}'; without groups use rr.logit, and of two keep the one "
            "with more groups and make a factor of the other"
        )
    effect, column = (text.strip() for text in terms[0].groups())
    if effect != "1":
        raise ArgumentValueError(
            f"groups may differ in their intercepts alone, (1 | {column}), found '{terms[0][0]}'; "
            f"write (1 | {column}), and its left side as a covariate of all groups"
        )
    is_quoted = len(column) > 2 and column[0] == column[-1] == "`" and "`" not in column[1:-1]
    if is_quoted:
        column = column[1:-1]
    elif not re.fullmatch(r"[\w.]+", column):
        raise ArgumentValueError(
            f"the groups must be one column, found '{terms[0][0]}'; of nested groups make a column "
            "of pairs, and name that or the outer one"
        )
    return _without(formula, terms[0]), column


def split_classes(outcome: Any) -> tuple[Any, str | None]:
    """A formula's sides and the covariates of the classes after ``|``; None without, and of arrays.

    ``y ~ x | z`` explains the classes by z: people who do not follow the instructions, or the true
    categories of privatized covariates.
    """
    if not isinstance(outcome, str):
        return outcome, None
    depth = 0
    for token in _BRACKETS.finditer(outcome):
        if token[0] in "([{":
            depth += 1
        elif token[0] in ")]}":
            depth -= 1
        elif token[0] == "|" and depth == 0:
            return outcome[: token.start()].strip(), outcome[token.end() :].strip()
    return outcome, None


def _without(formula: str, term: re.Match[str]) -> str:
    """The formula without a term and the plus sign that joins it to the others."""
    before = formula[: term.start()].rstrip()
    after = formula[term.end() :].strip()
    if before.endswith("+"):
        before = before[:-1].rstrip()
    elif before.endswith("~"):
        after = after.removeprefix("+").strip() or "1"
    return f"{before} {after}".strip()
