"""Randomness: addressed words, exact coins, integers and tables, and nothing else draws."""
