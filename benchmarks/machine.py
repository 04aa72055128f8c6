"""Where it ran: a number without a machine and versions says nothing."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import rrstats as rr

PACKAGES = ("numpy", "pandas", "scipy", "pyarrow", "cryptography")
ENGINES = ("polars", "dask", "pyspark", "narwhals")
RIVALS = ("opendp", "pure-ldp", "multi-freq-ldpy", "diffprivlib")


def processor() -> str:
    """The processor's own name where the system tells it."""
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} absent"


def load() -> str:
    """How busy the machine was in the last minute, where the system tells it."""
    try:
        return f"{os.getloadavg()[0]:.1f}"
    except (AttributeError, OSError):
        return "unknown"


def machine() -> str:
    """Processor, system, Python, and the version of all that is compared."""
    return (
        f"{processor()}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}\n"
        f"rrstats {rr.__version__}, {', '.join(map(_version, PACKAGES))}\n"
        f"{', '.join(map(_version, ENGINES))}\n"
        f"{', '.join(map(_version, RIVALS))}"
    )
