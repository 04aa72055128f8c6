"""Randomness: the only room that draws.

`sources` holds addressed words, fresh from the operating system or simulated; `keyed` the words
that depend on a key, an id and a value; `samplers` makes exact coins, integers, cells, bits,
permutations and reports of a table.  Public: `rr.SecureGenerator`, `rr.Key` and `rr.new_key`.
"""
