"""From answers to reports: a column, a frame, and a single answer.

`column` makes reports of one column, whole or in blocks; `frame` has `privatize`, `simulate` and
`check` of columns and frames, and `instantaneous`, the reports of a wave from kept ones; `single`
takes one answer at a time and writes reports as text (`rr.client`).
"""
