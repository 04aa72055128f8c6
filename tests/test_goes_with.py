"""The guide's table of what goes with what is what the package does."""

from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "what_goes_with_what.md"


def test_table_of_the_guide_is_what_every_call_does():
    """Each call gives a result, or is refused with a sentence of the package, as the page says.

    After a change: python tests/goes_with.py prints the table for the page.
    """
    for package in ("polars", "pyarrow", "formulaic", "narwhals"):
        pytest.importorskip(package)
    import goes_with  # after its packages

    page = PAGE.read_text("utf-8").splitlines()
    assert [line for line in page if line.startswith("|")] == goes_with.table().splitlines()
