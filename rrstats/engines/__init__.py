"""Engines for data that are too large for one process; each is imported separately.

    import rrstats.engines.dask     privatize_parquet, and ddf.rr on Dask frames
    import rrstats.engines.spark    privatize_parquet, and functions of Spark frames
    import rrstats.engines.polars   sink_privatized, and df.rr, lf.rr and s.rr on Polars

A lazy engine that privatizes again makes a second release, and many releases reveal the answers.
So privatizing is a sink, which writes once.  A lazy result exists only as keyed reports, which are
the same however often they are computed.  The public functions of rrstats count the reports.
"""

import importlib

from rrstats._checks import needing

with needing("rrstats.engines needs pyarrow; install pyarrow (pip install pyarrow)"):
    importlib.import_module("pyarrow")


def __dir__() -> list[str]:
    return ["dask", "polars", "spark"]
