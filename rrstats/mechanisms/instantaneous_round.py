"""The instantaneous round of RAPPOR: reports of one wave, drawn from kept permanent reports.

Source: Erlingsson, Pihur and Korolova (2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import check_instance
from rrstats._names import checked_keywords
from rrstats.data.codecs import open_reports
from rrstats.data.columns import blocks
from rrstats.errors import ArgumentValueError, SimulationWarning, warn
from rrstats.mechanisms.attrs import record_columns
from rrstats.mechanisms.records import find
from rrstats.mechanisms.unary import Rappor
from rrstats.randomness.sources import BLOCK_ROWS, SIMULATED_TEXT, RandomSource, open_source


@checked_keywords
def instantaneous(kept: Any, mechanism: Rappor, *, rng: RandomSource | None = None) -> Any:
    """Draw the instantaneous reports of RAPPOR for one wave from the permanent reports.

    Parameters
    ----------
    kept : array, Series or list of reports
        Reports of ``mechanism.permanent``, in any container that `privatize` returns.
    mechanism : Rappor
        The mechanism of both rounds; use it to estimate from the new reports.
    rng : optional
        As for `rrstats.privatize`.

    Returns
    -------
    array, Series or list
        New reports in the same container; missing ones stay missing.

    Raises
    ------
    ArgumentValueError
        For values that are not such reports, and for missing ones in NumPy, whose boolean arrays
        cannot hold missing values.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.mechanisms.Rappor(["red", "green", "blue"], f=0.5, p=0.5, q=0.75)
    >>> kept = rr.privatize(["red", "blue", "red"], m.permanent)
    >>> m.unpack(instantaneous(kept, m)).shape
    (3, 3)
    """
    check_instance(mechanism, "mechanism", Rappor, "a Rappor")
    space = mechanism.report_space
    container, read = open_reports(kept, space)
    # Boolean arrays of NumPy cannot hold missing reports; all other containers can.
    keeps_missing = container.family != "numpy"
    layout = space.layout(container, keep_missing=keeps_missing)
    encoded = read(container.cells)
    unusable = encoded.unknown
    if not keeps_missing:
        unusable += len(encoded.absent)
    if unusable:
        raise ArgumentValueError(
            f"{unusable} of {container.rows} kept reports are not {space.describe()}, or are "
            "missing in a NumPy array, which cannot hold them; give the reports of ``permanent``"
        )
    source = open_source(rng)
    builder = layout.builder(container.rows)
    absent = np.zeros(container.rows, dtype=np.bool_)
    absent[encoded.absent] = True
    for block, rows in enumerate(blocks(container.rows, BLOCK_ROWS)):
        reports = mechanism.randomize_kept(encoded.codes[rows], source, block)
        builder.write(rows, reports, np.flatnonzero(absent[rows]))
    released = container.wrap(builder.reports())
    if isinstance(released, pd.Series):
        record = find(kept.attrs, kept.name)
        facts: dict[str, Any] = {"simulated": not source.secure}
        if record is not None:
            record.resolve(mechanism.permanent)
            facts["simulated"] |= record.simulated
            facts |= {"unknown": record.unknown, "missing": record.missing, "keyed": record.keyed}
        record_columns(released.attrs, {kept.name: (mechanism, facts)})
    if not source.secure:
        warn(SIMULATED_TEXT, SimulationWarning)
    return released
