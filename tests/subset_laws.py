"""Laws of reports that are subsets, by sums over all of them: what such mechanisms' tests share.

A report of k categories is a number below 2**k here: bit i says whether category i is in it.
A law is a function of (mechanism, report, truth) that gives an exact Fraction.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from scripted import every_stream


def bits_of(k):
    """(2**k, k) every subset as a row of 0 and 1."""
    return np.arange(1 << k)[:, None] >> np.arange(k) & 1


def laws(mechanism, law):
    """For each truth the probabilities of all 2**k reports."""
    every = bits_of(mechanism.k).tolist()
    return [[law(mechanism, bits, truth) for bits in every] for truth in range(mechanism.k)]


def check_law(mechanism, law, bits, depths, most_undecided=Fraction(1, 4)):
    """All streams of tiny words, through the shipped code: the law of each truth."""
    for truth, expected in enumerate(laws(mechanism, law)):
        assert sum(expected) == 1
        source = every_stream(bits, depths)
        codes = np.full(source.rows, truth, dtype=mechanism.domain.dtype)
        reports = mechanism.randomize(codes, source, 0)
        assert reports.shape == (source.rows, 1)
        found = source.law(reports[:, 0], 1 << mechanism.k)
        assert found.brackets(expected)
        assert found.undecided <= most_undecided
        assert (codes == truth).all(), "the true codes were changed"


def check_channel(mechanism, law):
    """The four probabilities, the odds and the likelihood, from the law of all subsets."""
    k, channel, every = mechanism.k, mechanism.channel, bits_of(mechanism.k)
    probs = laws(mechanism, law)

    def chance(truth, *places):
        return sum(p for p, bits in zip(probs[truth], every, strict=True) if bits[[*places]].all())

    for truth, v in itertools.product(range(k), repeat=2):
        assert chance(truth, v) == (channel.prob_truth if v == truth else channel.prob_other)
    for truth, v, w in itertools.product(range(k), repeat=3):
        if v != w:
            pair = channel.pair_truth if truth in (v, w) else channel.pair_other
            assert chance(truth, v, w) == pair
    ratios = {
        column[truth] / column[other]
        for column in zip(*probs, strict=True)
        if any(column)
        for truth, other in itertools.permutations(range(k), 2)
    }
    assert max(ratios) == channel.max_likelihood_ratio
    possible = [place for place, column in enumerate(zip(*probs, strict=True)) if any(column)]
    likelihood = channel.likelihood(every[possible].astype(bool))
    exact = np.array([[float(p[place]) for p in probs] for place in possible])
    found = likelihood / likelihood.sum(axis=1, keepdims=True)
    assert np.allclose(exact / exact.sum(axis=1, keepdims=True), found, rtol=1e-12, atol=0)


def check_moments(mechanism, law):
    """Unbiased scores, and covariance for both targets, by sums over all subsets and truths."""
    k, channel, every = mechanism.k, mechanism.channel, bits_of(mechanism.k)
    probs = np.array(laws(mechanism, law), dtype=float)
    scores = channel.scores(every.astype(bool))
    close = {"rtol": 1e-11, "atol": 1e-12}
    assert np.allclose(np.eye(k), probs @ scores, **close)
    theta = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
    within = [
        scores.T @ (p[:, None] * scores) - np.outer(e, e)
        for p, e in zip(probs, np.eye(k), strict=True)
    ]
    rows = sum(share * cov for share, cov in zip(theta, within, strict=True))
    population = rows + np.diag(theta) - np.outer(theta, theta)
    for target, expected in (("rows", rows), ("population", population)):
        assert np.allclose(expected, channel.covariance(theta, target), **close)
        assert np.allclose(expected.diagonal(), channel.variance(theta, target), **close)
