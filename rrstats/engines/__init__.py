"""The same names on engines for more data than one process takes; each is imported by itself.

    import rrstats.engines.dask     privatize_parquet, and ddf.rr on Dask frames
    import rrstats.engines.spark    privatize_parquet, and the same on Spark
    import rrstats.engines.polars   sink_privatized, and the same on Polars

Privatizing is an effect: a lazy engine that computes it again makes a second release, and many of
them give the answers back.  So it is a sink, which writes once.  A lazy result exists only in the
keyed form, which is the same however often it is computed.  Counting is the public functions'.
"""
