"""What does it cost, and against what?  ``python -m benchmarks`` prints one table.

Each file that is named in `benchmarks.__main__` answers one question and can be run alone, as
``python -m benchmarks.columns``.  rrstats and its rivals take turns in one run, so that a busy
machine slows all alike, and a result that does not follow the published law stops the run before
its time counts.
"""
