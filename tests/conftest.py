"""For all tests: signals, packages that may be absent, no deadlines, garbage of the tests alone."""

import contextlib
import gc
import signal

import pytest

# `nohup python -m pytest &` starts with these ignored, and so would every child process.  A
# handler is not inherited: under nohup a hang-up still ends nothing here, and the children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

with contextlib.suppress(ImportError):
    import hypothesis

    hypothesis.settings.register_profile("no deadline", deadline=None)
    hypothesis.settings.load_profile("no deadline")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect tests without collecting garbage, and let later searches skip what is there.

    The packages and the items of 12,000 tests are a million objects that live to the end.  To
    search them again and again took half of the time of collecting the tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def optional(package):
    """A fixture that is this package; where it is absent the test is skipped."""
    return pytest.fixture(lambda: pytest.importorskip(package), scope="session")


pa, pl, dd = optional("pyarrow"), optional("polars"), optional("dask.dataframe")
nw, formulaic, cryptography = optional("narwhals"), optional("formulaic"), optional("cryptography")
