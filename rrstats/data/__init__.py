"""Columns of answers and reports.

`categories` has the declared categories, their codes and their JSON; `columns` opens containers,
encodes their cells and writes reports back; `arrow` handles Arrow's types, `bitsets` reports that
are subsets of categories, and `identifiers` ids of persons.  No name here is public.
"""
