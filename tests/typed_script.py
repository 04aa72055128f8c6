"""A user's script, which type checkers read and nobody runs; see test_typing.py.

The comment of each line is the type that a checker reveals there, without modules.
"""

from typing import reveal_type

import pandas as pd

import rrstats as rr
from rrstats.accessor import FrameAccessor, SeriesAccessor

frame = pd.DataFrame({"q1": ["no", "yes"] * 50, "q2": ["no"] * 100, "sex": ["f", "m"] * 50})
mechanism = rr.KRR(["no", "yes"], 0.75)
design = rr.surveys.warner(["no", "yes"], 0.7, yes="yes")

est = rr.estimate(["no", "yes", "no"], mechanism)
reveal_type(est)  # Estimate
reveal_type(rr.estimate(["no", "yes"], ["no", "yes"], 0.75, target="sample"))  # Estimate
reveal_type(rr.estimate(frame, mechanism, columns="q1"))  # Estimate
reveal_type(rr.estimate(frame["q1"], design, by=frame["sex"]))  # GroupEstimates[Estimate]
groups = rr.estimate(frame, mechanism, columns="q1", by="sex")
reveal_type(groups)  # GroupEstimates[Estimate]
reveal_type(groups["f"])  # Estimate
several = rr.estimate(frame, {"q1": mechanism, "q2": mechanism}, columns=["q1", "q2"])
reveal_type(several)  # Estimates[Estimate]
reveal_type(several["q1"])  # Estimate
both = rr.estimate(frame, mechanism, columns=["q1", "q2"], by=["sex"])
reveal_type(both)  # Estimates[GroupEstimates[Estimate]]
reveal_type(both["q1"]["f"].n)  # int
plan = rr.planning.plan({"q1": ["no", "yes"], "q2": ["no", "yes"]}, 2.0)
reveal_type(rr.estimate(frame, plan))  # Estimates[Estimate]
reveal_type(rr.estimate(frame, mechanism=plan, by="sex"))  # Estimates[GroupEstimates[Estimate]]

reveal_type(est.proportions)  # NDArray[float64]
reveal_type(est["yes"].value)  # float
reveal_type(est.interval(0.9).low)  # NDArray[float64]
reveal_type(est.to_frame())  # DataFrame
reveal_type(est.n)  # int
reveal_type(mechanism.epsilon)  # float
reveal_type(est.interpret())  # str
reveal_type(est.plot())  # Axes
reveal_type(groups.plot(category="yes", sort=True))  # Axes
reveal_type(both.plot(title="both", figsize=(6, 3)))  # Axes

accessor = FrameAccessor(frame)
reveal_type(accessor.estimate("q1", mechanism))  # Estimate
reveal_type(accessor.estimate("q1", mechanism, by="sex"))  # GroupEstimates[Estimate]
reveal_type(accessor.estimate(["q1"], mechanism))  # Estimates[Estimate]
reveal_type(accessor.estimate())  # Estimates[Estimate]
reveal_type(accessor.estimate(by="sex"))  # Estimates[GroupEstimates[Estimate]]
reveal_type(accessor.privatize("q1", mechanism))  # DataFrame
reveal_type(accessor.crosstab("q1", "q2"))  # Crosstab
reveal_type(accessor.crosstab("q1", "q2").plot())  # Axes
reveal_type(accessor.means("age", "q1", mechanism).plot())  # Axes
reveal_type(accessor.epsilon)  # float
series = SeriesAccessor(frame["q1"])
reveal_type(series.estimate(mechanism))  # Estimate
reveal_type(series.estimate(mechanism, by=frame["sex"]))  # GroupEstimates[Estimate]
reveal_type(rr.difference(est, est).plot())  # Axes
