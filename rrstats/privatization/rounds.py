"""Two rounds: a permanent answer that is kept, and the reports of each wave from it.

The designs are in `mechanisms.rappor`; here the kept bits of RAPPOR become reports.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import check_instance
from rrstats.data.columns import open_reports
from rrstats.errors import ArgumentValueError, SimulationWarning, warn
from rrstats.mechanisms.rappor import Rappor, two_rounds
from rrstats.mechanisms.records import find, record_columns
from rrstats.randomness.sources import BLOCK_ROWS, SIMULATED_TEXT, open_source

__all__ = ["instantaneous", "two_rounds"]


def instantaneous(kept: Any, mechanism: Rappor, *, rng: Any = None) -> Any:
    """The reports of one wave, from the kept reports of the permanent round.

    Parameters
    ----------
    kept : array, Series or list of reports
        Reports of ``mechanism.permanent``, in any container that `privatize` gives back.
    mechanism : Rappor
        Both rounds; estimate from the new reports with it.
    rng : optional
        As for `rrstats.privatize`.

    Returns
    -------
    array, Series or list
        New reports in the same container; missing ones stay missing.

    Raises
    ------
    ArgumentValueError
        For values that are no such report, and for missing ones in NumPy, whose booleans have no
        place for them.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.Rappor(["red", "green", "blue"], f=0.5, p=0.5, q=0.75)
    >>> kept = rr.privatize(["red", "blue", "red"], m.permanent)
    >>> m.unpack(instantaneous(kept, m)).shape
    (3, 3)
    """
    check_instance(mechanism, "mechanism", Rappor, "a Rappor")
    space = mechanism.report_space
    container, read = open_reports(kept, space)
    # Booleans of NumPy have no place for missing reports; all other containers have one.
    keeps_missing = container.family != "numpy"
    layout = space.layout(container, keep_missing=keeps_missing)
    found = read(container.cells)
    if found.unknown:
        raise ArgumentValueError(
            f"{found.unknown} of {container.rows} kept reports are not {space.describe()}; "
            "give the reports of ``permanent``"
        )
    if len(found.absent) and not keeps_missing:
        raise ArgumentValueError(
            f"{len(found.absent)} of {container.rows} kept reports are missing, which booleans of "
            "NumPy cannot say; give them as a list, in pandas or in Arrow, or leave them out"
        )
    source, builder = open_source(rng), layout.builder(container.rows)
    lost = np.zeros(container.rows, dtype=np.bool_)
    lost[found.absent] = True
    for block, start in enumerate(range(0, container.rows, BLOCK_ROWS)):
        rows = slice(start, min(start + BLOCK_ROWS, container.rows))
        reports = mechanism.randomize_kept(found.codes[rows], source, block)
        builder.write(rows, reports, np.flatnonzero(lost[rows]))
    made = container.wrap(builder.reports())
    if isinstance(made, pd.Series):
        _record(kept, made, mechanism, source.secure)
    if not source.secure:
        warn(SIMULATED_TEXT, SimulationWarning)
    return made


def _record(kept: Any, made: pd.Series[Any], mechanism: Rappor, secure: bool) -> None:
    """Say beside the reports how they were made, checked against what the kept ones say."""
    said, facts = find(kept.attrs, kept.name), dict[str, Any](simulated=not secure)
    if said is not None:
        said.resolve(mechanism.permanent)
        facts = {"unknown": said.unknown, "missing": said.missing, "keyed": said.keyed} | {
            "simulated": said.simulated or not secure
        }
    record_columns(made.attrs, {kept.name: (mechanism, facts)})


def __dir__() -> list[str]:
    return __all__
