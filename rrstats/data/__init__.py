"""Columns of answers and reports.

`categories` are declared, coded and written as JSON; `columns` opens containers, encodes their
cells and writes reports back; `arrow` and `bitsets` know Arrow's types and reports that are sets
of categories; `identifiers` reads ids of persons.  Nothing here is public by itself.
"""
