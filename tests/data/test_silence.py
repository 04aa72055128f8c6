"""Objects that warn when they are looked at are read in silence, in threads and after a fork."""

import multiprocessing
import numbers
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats.data.silence import silent


@pytest.fixture(autouse=True, scope="module")
def no_disguise_afterwards():
    """Caches of `isinstance` keep the class that is equal to str; later tests ask them of text."""
    yield
    Disguise.__eq__ = type.__eq__


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


class Disguise(type):
    """A class of classes: those say that they are text, or raise."""

    __hash__ = warning(hash(str))
    __eq__ = warning(True)


class Raising(type):
    def __hash__(cls):
        raise ValueError("an answer is here")


class Disguised(metaclass=Disguise):
    def __hash__(self):
        raise ValueError("an answer is here")


class RaisingClass(metaclass=Raising):
    """An answer whose class cannot stand in a set."""


LOUD = [Loud(), LoudFloat(1.5), (Loud(),), Disguised(), RaisingClass()]


@pytest.mark.parametrize("answer", LOUD, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize(
    "mechanism",
    [rr.number(0.0, 10.0), [0, 1], [0.5, 1.5], ["no", "yes"]],
    ids=["number", "integers", "floats", "text"],
)
@pytest.mark.parametrize("held", [list, lambda cells: pd.Series(cells, dtype=object)])
def test_no_answer_is_heard(held, mechanism, answer):
    """Warnings of answers are silent, and their filters are not changed in the end."""
    cells = np.empty(3, dtype=object)
    cells.fill(answer)  # NumPy may look at the class of the cells of a list
    rr.privatize([1.5], rr.number(0.0, 10.0), epsilon=1)  # SciPy adds a filter when it is imported
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        before = warnings.filters[:]
        rr.privatize(held(cells), mechanism, epsilon=1, unknown="uniform")
        assert before == warnings.filters
    assert [] == heard


def test_silence_is_that_of_one_thread_until_its_last_block_ends():
    """A block inside another does not end it; warnings of other threads are heard all the time."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with silent():
            with silent():
                warnings.warn("silent", stacklevel=1)
            warnings.warn("silent", stacklevel=1)
            with ThreadPoolExecutor(1) as pool:
                pool.submit(warnings.warn, "of another thread").result()
        warnings.warn("of this thread", stacklevel=1)
    assert ["of another thread", "of this thread"] == [str(one.message) for one in heard]


def test_filters_that_another_thread_restores_are_not_silent():
    """Filters that were copied in a block, and restored after it, let all warnings through."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        others = warnings.catch_warnings()
        with silent():
            others.__enter__()
        warnings.warn("in the copy", stacklevel=1)
        others.__exit__(None, None, None)
        warnings.warn("restored", stacklevel=1)
    assert ["in the copy", "restored"] == [str(one.message) for one in heard]


def test_filters_may_be_reset_in_silence():
    """A method that resets the filters ends the silence, and the block ends without an error."""
    with warnings.catch_warnings():
        with silent():
            warnings.resetwarnings()
        assert [] == warnings.filters


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


def is_heard():
    """True if a warning of this thread is heard, which is an error in this suite."""
    try:
        warnings.warn("is it heard?", stacklevel=1)
    except UserWarning:
        return True
    return False


def check_child(is_silent):
    """Exit with 0 if a forked child is silent as it must be, and silence works in it."""
    before = is_heard()
    with silent():
        inside = is_heard()
    raise SystemExit((not is_silent, False) != (before, inside))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("is_silent", [False, True])
def test_a_forked_process_has_the_silence_of_its_thread(is_silent):
    """A child is silent if its thread was, and not for ever if another thread read objects."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    child = multiprocessing.get_context("fork").Process(target=check_child, args=(is_silent,))
    with silent():
        if is_silent:
            child.start()
        else:
            other = threading.Thread(target=child.start)
            other.start()
            other.join(20)
        child.join(20)
    assert 0 == child.exitcode
