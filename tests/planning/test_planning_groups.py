"""People for pooled groups: the variance of Fay and Herriot's predictor, and its limits."""

import numpy as np
import pytest

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.planning import half_width, sample_size


def test_the_variance_of_the_predictor():
    """The smallest n whose predictor has that half-width, by the variances of 50 groups."""
    n = sample_size(0.08, 0.3, epsilon=1.0, pooled=(50, 0.05))
    channel = rr.KRR([0, 1], epsilon=1.0).channel

    def width(size):
        raw = channel.covariance([0.7, 0.3], "population")[1, 1] / size
        inverse = 1 / (raw + 0.05**2)
        # Of each group, and of the mean that all groups share.
        own = 0.05**2 - 0.05**4 * inverse
        shared = (raw * inverse) ** 2 / (50 * inverse)
        return 1.959963984540054 * np.sqrt(own + shared)

    assert width(n) <= 0.08 < width(n - 1)


def test_groups_that_hardly_differ_need_few_people():
    """With a small deviation few are enough; with a large one pooling is no gain."""
    assert sample_size(0.08, 0.3, epsilon=1.0, pooled=(1000, 0.001)) < 10
    alone = sample_size(0.08, 0.3, epsilon=1.0, method="wald")
    pooled = sample_size(0.08, 0.3, epsilon=1.0, pooled=(10**6, 0.5))
    assert pooled == pytest.approx(alone, rel=0.02)
    assert half_width(alone, 0.3, epsilon=1.0, method="wald") == pytest.approx(0.08, rel=0.01)


@pytest.mark.parametrize(
    "options",
    [
        {"pooled": 50},
        {"pooled": (50,)},
        {"pooled": (1, 0.1)},
        {"pooled": (50, 0)},
    ],
)
def test_both_are_needed(options):
    """The number of groups and their deviation belong together."""
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="pooled"):
        sample_size(0.08, 0.3, epsilon=1.0, **options)


@pytest.mark.parametrize("proportion", [-0.1, 1.5])
def test_the_proportion_of_groups_is_one(proportion):
    """A proportion outside [0, 1] is refused for pooled groups, too."""
    with pytest.raises(ArgumentValueError, match=r"proportion must be in \[0, 1\]"):
        sample_size(0.08, proportion, epsilon=1.0, pooled=(50, 0.05))
