"""The epsilon of known deployments, to compare others with; the numbers are in deployments.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pandas as pd

from rrstats._names import checked_keywords


@checked_keywords
def deployments() -> pd.DataFrame:
    """Return the epsilon of one report in known deployments.

    Returns
    -------
    DataFrame
        For each deployment what is randomized, and ``epsilon``, to three decimals.  The page on
        deployments has the parameters and their sources, as read in November 2026.

    Examples
    --------
    >>> deployments().loc["two coins", "epsilon"]
    np.float64(1.099)
    """
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["deployments"]
    frame = pd.DataFrame(listed, columns=["deployment", "what is randomized", "epsilon"])
    return frame.astype({"epsilon": float}).set_index("deployment")
