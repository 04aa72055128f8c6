"""Reports that are subsets of the categories, a bit for each: what they are and how they are kept.

Unary encoding and subset selection answer with a set of categories, in one of these forms:

    packed     (n, width) bytes, width = ceil(k / 8): inside the package
    NumPy      (..., k) booleans; the last axis is that of the categories
    pandas     one column of binary (Arrow's type; bytes objects without pyarrow)
    Arrow      fixed_size_binary(width), and so in Parquet and Feather files
    lists      bytes objects, each of ``width`` bytes

Text, such as CSV, holds none of them.  One rule for all: category i is bit ``i % 8``, the lowest
first, of byte ``i // 8``, which is ``np.packbits(..., bitorder="little")`` and Arrow's own order
of bits.  The bits behind the last category are 0.
"""

from rrstats.subsets import forms
from rrstats.subsets.bits import count_supports
from rrstats.subsets.space import PackedReports, Subsets

__all__ = ["PackedReports", "Subsets", "count_supports", "forms"]
