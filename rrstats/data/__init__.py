"""Columns of answers and reports: categories, containers, codes, sets of categories, ids."""
