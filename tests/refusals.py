"""What must be refused: the error of a call, and its words."""

import pytest


def refused(error, words, call, *args, **options):
    """The message of the error that a call raises, in which the words are found."""
    with pytest.raises(error, match=words) as caught:
        call(*args, **options)
    return str(caught.value)
