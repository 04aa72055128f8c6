"""Columns of answers and reports.

`categories` has the declared categories, their codes, their JSON and their Arrow types; `columns`
opens containers, encodes their cells and writes reports back; `bitsets` has reports that are
subsets of categories, and `identifiers` ids of persons.  No name here is public.
"""
