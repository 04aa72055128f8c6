"""Whole files: privatize, tally and estimate in bounded memory, published at once.

    rr.files.privatize_file("in.parquet", "out.parquet", {"answer": rr.KRR(words, 0.75)})
    rr.files.estimate_file("out.parquet")["answer"].interval()
    page = rr.files.statement_of("out.parquet")      # what goes out with the file: Markdown, HTML

Parquet files and directories of them, Arrow IPC (Feather) files, CSV and TSV, gzipped or not.
Reading and writing needs pyarrow: ``pip install pyarrow``.

`formats` and `csv` read and write one file, `batches` privatizes its rows, `shuffle` mixes them;
`plan` reads what was asked for, `file_metadata` and `ledger` keep what was done, and `atomic`
publishes.  `privatize_file` and `estimate_file` bring them together.
"""

from rrstats.errors import MissingPackageError

try:
    from rrstats.files.estimate_file import (
        check_file,
        describe_file,
        estimate_file,
        statement_of,
        tally_file,
    )
    from rrstats.files.privatize_file import privatize_file
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "pyarrow":
        raise
    raise MissingPackageError(
        "rrstats.files needs pyarrow; install pyarrow (pip install pyarrow)"
    ) from None

__all__ = [
    "check_file",
    "describe_file",
    "estimate_file",
    "privatize_file",
    "statement_of",
    "tally_file",
]


def __dir__() -> list[str]:
    return __all__
