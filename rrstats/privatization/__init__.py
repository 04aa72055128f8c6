"""Randomization of answers into reports: columns, frames and single answers.

`column` randomizes one column, whole or in blocks.  `frame` has `privatize`, `simulate` and
`check` for columns and frames.
`frame_release` releases the columns of a plan, which share one epsilon.
`single` randomizes one answer at a time and writes reports as text (`rr.client`).
"""
