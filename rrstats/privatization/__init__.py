"""Randomization of answers into reports: columns, frames and single answers.

`column` randomizes one column, whole or in blocks.  `frame` has `privatize`, `simulate` and
`check` for columns and frames, and `instantaneous`, which draws a wave's reports from kept ones.
`single` randomizes one answer at a time and writes reports as text (`rr.client`).
"""
