"""From reports to estimates: tallies, proportions, tables, tests."""
