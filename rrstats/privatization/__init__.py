"""From answers to reports: a column, a frame, a single answer, and simulation."""
