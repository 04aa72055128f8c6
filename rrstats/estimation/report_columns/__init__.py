"""Columns for analysis: the only way from data to reports, groups, weights and strata.

`report_columns` has columns of reports and of ordinary values, `engine_frames` the frames of
engines, `sample_design` strata, clusters and weights, and `replicates` replicate weights.
"""
