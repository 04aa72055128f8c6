"""Objects that warn when they are looked at are read in silence, in threads and after a fork."""

import multiprocessing
import numbers
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats.data.silence import silent


def warning(result):
    """A method that warns and returns a result."""

    def method(self, *_):
        warnings.warn("an answer is here", stacklevel=1)
        return result

    return method


class Loud:
    """An answer all of whose methods warn; to ``numbers`` it is a number."""

    __float__ = warning(1.5)
    __hash__ = warning(1)
    __eq__ = __bool__ = warning(True)
    __ne__ = __lt__ = __gt__ = warning(False)


numbers.Real.register(Loud)


class LoudFloat(float):
    __ne__ = warning(False)
    __hash__ = warning(1)
    __eq__ = warning(True)


@pytest.mark.parametrize("answer", [Loud(), LoudFloat(1.5), (Loud(),)], ids=lambda a: type(a))
@pytest.mark.parametrize(
    "mechanism",
    [rr.number(0.0, 10.0), [0, 1], [0.5, 1.5], ["no", "yes"]],
    ids=["number", "integers", "floats", "text"],
)
@pytest.mark.parametrize("held", [list, lambda cells: pd.Series(cells, dtype=object)])
def test_no_answer_is_heard(held, mechanism, answer):
    """Warnings of answers are silent, and their filters are not changed in the end."""
    cells = np.empty(3, dtype=object)
    cells[:] = [answer] * 3
    rr.privatize([1.5], rr.number(0.0, 10.0), epsilon=1)  # SciPy adds a filter when it is imported
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        before = warnings.filters[:]
        rr.privatize(held(cells), mechanism, epsilon=1, unknown="uniform")
        assert before == warnings.filters
    assert [] == heard


def test_silence_ends_with_the_last_thread():
    """A thread that ends first does not end the silence of the other; the filters come back."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        first = silent([object()])
        second = silent([object()])
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        warnings.warn("silent", stacklevel=1)
        second.__exit__(None, None, None)
        warnings.warn("heard", stacklevel=1)
    assert ["heard"] == [str(one.message) for one in heard]


class Computed(Loud):
    """A number that another thread computes while it is looked at, as a task of Dask may."""

    def __float__(self):
        with ThreadPoolExecutor(1) as pool:
            inner = pool.submit(rr.privatize, [Loud()], rr.number(0.0, 10.0), epsilon=1)
            inner.result(timeout=20)
        return 1.5


numbers.Real.register(Computed)


def test_no_lock_is_held_while_a_method_runs():
    """A cell whose value needs another thread that reads such cells does not stop for ever."""
    assert 1 == len(rr.privatize([Computed()], rr.number(0.0, 10.0), epsilon=1))


def filters_are_restored(before):
    """Exit with 0 if the filters are those from before, and silence works again."""
    restored = before == warnings.filters
    with silent([object()]):
        changed = before != warnings.filters
    raise SystemExit(not (restored and changed and before == warnings.filters))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_is_not_silent_for_ever():
    """A child that is forked while another thread reads objects has the filters from before."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    before = warnings.filters[:]
    with silent([object()]):
        child = multiprocessing.get_context("fork").Process(
            target=filters_are_restored, args=(before,)
        )
        child.start()
        child.join(20)
    assert 0 == child.exitcode
