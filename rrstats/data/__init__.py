"""Columns of answers and reports: categories, containers, codes, sets of categories, ids."""

from rrstats.data import bitset_forms  # registers how sets of categories are read and written

__all__ = ["bitset_forms"]
