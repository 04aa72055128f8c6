"""Where Spark's Python workers are forked from in tests, with all that they need imported.

Spark starts a new worker for each attempt after a failure, and imports take it seconds.
"""

import importlib

from pyspark.daemon import manager

importlib.import_module("rrstats.engines.spark")

if __name__ == "__main__":
    manager()
