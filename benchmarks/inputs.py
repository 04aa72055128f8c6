"""What is privatized in the benchmarks, and the code that rrstats is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.measuring import PROB

WORDS = ["never", "once", "sometimes", "often"]

TEXT = "str" if int(pd.__version__.partition(".")[0]) >= 3 else "string"
"""What pandas gives to text: `str` since version 3."""


def answers(k: int, rows: int, dtype: Any) -> NDArray[Any]:
    """True answers as codes 0 .. k-1: the first are common, the last rare."""
    where = np.random.default_rng(k).random(rows)
    where *= where * where
    where *= k
    return where.astype(dtype)


def textbook(codes: NDArray[Any], k: int) -> NDArray[Any]:
    """What a tutorial writes: doubles against a double, from a generator that is not secure."""
    rng = np.random.default_rng()
    keep = rng.random(len(codes)) < PROB
    lie = rng.integers(0, k - 1, len(codes))
    lie += lie >= codes
    return np.where(keep, codes, lie).astype(codes.dtype)


def text_idiom(answers: pd.Series[Any], dtype: Any = None) -> pd.Series[Any]:
    """Text to codes, textbook, and back to text, of the same dtype if no other is given."""
    codes = pd.Categorical(answers, categories=WORDS).codes
    reports = pd.Categorical.from_codes(textbook(codes, len(WORDS)), categories=WORDS)
    return pd.Series(reports, index=answers.index).astype(dtype or answers.dtype)


def categorical_idiom(answers: pd.Series[Any]) -> pd.Series[Any]:
    """Textbook on the codes that a Categorical has already."""
    reports = textbook(answers.cat.codes.to_numpy(), len(WORDS))
    return pd.Series(pd.Categorical.from_codes(reports, dtype=answers.dtype), index=answers.index)


def bool_idiom(answers: pd.Series[Any]) -> pd.Series[Any]:
    """Keep, or turn round: the short way that only two answers allow."""
    values = answers.to_numpy()
    keep = np.random.default_rng().random(len(values)) < PROB
    return pd.Series(np.where(keep, values, ~values), index=answers.index)


def series_of(kind: str, codes: NDArray[Any]) -> pd.Series[Any]:
    """The answers behind codes, as a Series of "text", "object", "Categorical" or "bool"."""
    if kind == "bool":
        return pd.Series(codes.astype(np.bool_))
    labels = pd.Categorical.from_codes(codes, categories=WORDS)
    if kind == "Categorical":
        return pd.Series(labels)
    return pd.Series(np.array(WORDS, dtype=object)[codes], dtype=TEXT if kind == "text" else object)


def object_idiom(answers: pd.Series[Any]) -> pd.Series[Any]:
    """Objects to codes, textbook, and to the dtype that pandas would give such text."""
    return text_idiom(answers, TEXT if TEXT == "str" else object)


def codes_of(values: pd.Series[Any]) -> NDArray[Any]:
    """The codes behind a Series that `series_of` could have made; -1 for anything else."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes.to_numpy()
    if pd.api.types.is_bool_dtype(values.dtype):
        return values.to_numpy().astype(np.int8)
    return pd.Index(WORDS, dtype=values.dtype).get_indexer(pd.Index(values))


IDIOMS = {
    "text": text_idiom,
    "object": object_idiom,
    "Categorical": categorical_idiom,
    "bool": bool_idiom,
}
