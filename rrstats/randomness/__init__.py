"""Randomness: the only package that draws random numbers.

`sources` has addressed words, fresh from the operating system or simulated; `keyed` has words that
depend on a key, an id and a value; `samplers` draws exact coins, integers, cells, bits,
permutations and reports of a table.  Public, in `rr.client`: `SecureGenerator`, `Key`, `new_key`.
"""
