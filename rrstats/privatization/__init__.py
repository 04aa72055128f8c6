"""Randomization of answers into reports: columns, frames and single answers.

`column` randomizes one column, whole or in blocks.  `frame` has `privatize`, `simulate` and
`check` for columns and frames, and `instantaneous`, which draws a wave's reports from kept ones.
`frame_plan` shares one epsilon among the columns of a frame (`rr.FramePlan`).
`single` randomizes one answer at a time and writes reports as text (`rr.client`).
"""
