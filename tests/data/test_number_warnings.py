"""Reading numbers never warns or raises because of an answer, whatever NumPy is set to."""

import warnings

import numpy as np
import pandas as pd
import pytest

from rrstats.data.encoders import bound_reader, reader
from rrstats.data.number_readers import number_reader
from rrstats.data.number_spaces import NumberGrid


@pytest.mark.parametrize(
    "cells",
    [
        np.array([0x7FA00000], np.uint32).view(np.float32),
        np.array([0x7FF4000000000000], np.uint64).view(np.float64),
        np.array([5e-324]),
        pd.array(np.array([0x7FA00000], np.uint32).view(np.float32), dtype="Float32"),
        np.array([np.finfo(np.longdouble).max]),
    ],
    ids=["signalling NaN of 32 bits", "signalling NaN", "subnormal", "Float32", "long double"],
)
def test_odd_numbers_are_read_in_silence(cells):
    grid = NumberGrid([0, 5, 10])
    compare = bound_reader(grid, cells)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        reader(grid, cells)(cells)
        compare(cells)
        number_reader(cells.dtype)(cells)
