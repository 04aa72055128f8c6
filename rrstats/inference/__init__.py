"""Intervals and maximum likelihood of counts: numbers in, numbers out."""
