"""Engines for more data than one process takes; each is imported by itself.

    import rrstats.engines.dask     privatize_parquet, and ddf.rr on Dask frames
    import rrstats.engines.spark    privatize_parquet, and functions of Spark frames
    import rrstats.engines.polars   sink_privatized, and df.rr, lf.rr and s.rr on Polars

Privatizing is an effect: a lazy engine that computes it again makes a second release, and many of
them give the answers back.  So it is a sink, which writes once.  A lazy result exists only in the
keyed form, which is the same however often it is computed.  Counting is the public functions'.
"""
