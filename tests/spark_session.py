"""One Spark session for a test process: local, small, quiet, and with tasks that may fail once.

    pytestmark = spark_session.QUIET  Spark's warnings of itself are no failures
    spark = spark_session.get()       skips the test, with the reason, where there is none

Two cores and up to four attempts for a task (``local[2,4]``); no web page, little memory, two
partitions after a shuffle.  Its files lie in a temporary folder that goes with the process.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

QUIET = pytest.mark.filterwarnings(
    # Spark does not fully know pandas 3 yet; the parts of it that are used here do.
    "ignore:PySpark does not yet fully support pandas:FutureWarning"
)


def _why_not() -> str | None:
    """Why there is no Spark here."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    return "Spark needs Java, which is not there" if java is None else None


@cache
def _start() -> Any:
    from pyspark.sql import SparkSession

    folder = tempfile.mkdtemp(prefix="rrstats-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # Workers run this Python and import what this process imports, the tests' modules too.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    here = str(Path(__file__).parent)
    package = str(Path(__file__).parents[1])
    path = os.pathsep.join([here, package, os.environ.get("PYTHONPATH", "")])
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": f"{folder}/local",
        "spark.executorEnv.PYTHONPATH": path,
        "spark.python.daemon.module": "spark_daemon",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} -XX:TieredStopAtLevel=1",
        "spark.log.level": "OFF",
    }
    session = SparkSession.builder.master("local[2,4]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    atexit.register(session.stop)
    return session


def get() -> Any:
    """The session; skips the test that asks for it where there is no pyspark or no Java."""
    if reason := _why_not():
        pytest.skip(f"Spark cannot run here: {reason}")
    with warnings.catch_warnings():
        # Spark says that it does not fully know pandas 3 yet, and leaves sockets to the collector.
        warnings.simplefilter("ignore")
        return _start()
