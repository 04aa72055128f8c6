"""Shares and totals from weighted, stratified and clustered samples, and finite populations.

`sampling` says how a weighted sum varies over samples, `estimates` what follows for shares,
`domains` for two groups of one sample, `ratios` for shares among some people and for means.
"""

from __future__ import annotations

from rrstats.weighted.estimates import SurveyEstimate, SurveyShare, survey_estimate
from rrstats.weighted.sampling import LONELY

__all__ = ["LONELY", "SurveyEstimate", "SurveyShare", "survey_estimate"]
