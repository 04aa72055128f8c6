"""What k, prob and epsilon may be, and what is said of anything else."""

from __future__ import annotations

import math
import numbers
from decimal import Decimal

from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["as_number", "check_epsilon", "check_k", "check_prob"]

_MOST_CATEGORIES = 2**63


def as_number(value: object, name: str) -> float:
    """A finite or infinite real number as a double; raises for anything else."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()  # a NumPy scalar, or an array without axes
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise ArgumentTypeError(f"{name} must be a number, found {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        raise ArgumentValueError(f"{name} is too large for a double") from None
    except ValueError:  # a signaling NaN
        raise ArgumentValueError(f"{name} must be a number, found NaN") from None


def check_k(k: object) -> int:
    """The number of categories as an int; raises unless it is a whole number of at least 2."""
    if isinstance(k, bool) or not isinstance(k, numbers.Integral):
        raise ArgumentTypeError(
            f"k, the number of categories, must be an integer, found {type(k).__name__}"
        )
    count = int(k)
    if count < 2:
        raise ArgumentValueError(f"k, the number of categories, must be at least 2, got {count}")
    if count > _MOST_CATEGORIES:
        raise ArgumentValueError("k, the number of categories, must be at most 2**63")
    return count


def check_prob(prob: object, k: int, *, lowest: float | None = None) -> float:
    """``prob`` as a double in [1/k, 1); raises with the allowed range otherwise.

    lowest : another lower end, excluded, where a function allows less than 1/k.
    """
    value = as_number(prob, "prob")
    if lowest is not None and lowest < value < 1:
        return value
    if lowest is None and 1 / k <= value < 1:
        return value
    if value == 1:
        why = "at 1 every report is the truth: no privacy"
    elif lowest is None and 0 < value < 1:
        why = f"below 1/{k} each other answer is likelier than the truth"
    elif 1 < value < 100:
        why = f"write {value / 100:g} for {value:g}%"
    else:
        why = "it is the probability that a report is the truth"
    allowed = f"[1/{k}, 1) for {k} categories" if lowest is None else f"({lowest:g}, 1)"
    raise ArgumentValueError(f"prob must be in {allowed}, got {value!r}; {why}")


def check_epsilon(epsilon: object) -> float:
    """``epsilon`` as a double; raises unless it is at least 0 and finite."""
    value = as_number(epsilon, "epsilon")
    if not 0 <= value < math.inf:
        raise ArgumentValueError(
            f"epsilon must be a finite number of at least 0 (nats), got {value!r}"
        )
    return value
