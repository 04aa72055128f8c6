"""From answers to reports: a column, a frame, and a single answer."""
