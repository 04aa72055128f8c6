"""``rrstats studies``: the book of published studies, listed or one computed again."""

from __future__ import annotations

import argparse

from rrstats._display import wrap
from rrstats.datasets import book


def page(options: argparse.Namespace) -> str:
    """The list of all questions, those of one study, or one question."""
    if options.id is None:
        return f"{book.table()}\n\n{wrap(book.LEGEND)}\n"
    of_study = book.table(options.id)
    if of_study:
        return f"{of_study}\n\n{wrap(book.LEGEND)}\n"
    return f"{book.study(options.id).summary()}\n"
