"""Where Spark's Python workers are forked from in tests, with all that they need imported.

Spark starts a new worker for each attempt after a failure, and imports take it seconds.
"""

from pyspark.daemon import manager

import rrstats.engines.spark  # noqa: F401  # so that workers find it imported

if __name__ == "__main__":
    manager()
