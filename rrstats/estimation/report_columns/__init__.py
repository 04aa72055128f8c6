"""Columns for analysis: the only way from data to reports, groups, weights and strata.

Two floors.  Below, `report_columns` has columns, private or ordinary, `report_frames` the frames
that they stand in and what is asked of these, and `engine_frames` the frames of engines.  Above,
`sample_design` has design columns: groups, strata, clusters and weights, and `replicates` replicate
weights; only these two know the words of surveys.
"""
