"""Whole files: privatize, tally and estimate in bounded memory, published at once.

    rr.files.privatize_file("in.parquet", "out.parquet", {"answer": rr.KRR(words, 0.75)})
    rr.files.estimate_file("out.parquet")["answer"].interval()
    rr.files.read("out.parquet").rr.estimate()       # the frame with its records
    page = rr.files.statement_of("out.parquet")      # the page to publish with it: Markdown, HTML

    rr.files.records(schema.metadata)                # how columns were made, also of df.attrs

    book = rr.files.codebook("survey.dta")           # the possible answers, never the rows

Formats: Parquet files and directories of them, Arrow IPC (Feather) files, CSV and TSV, gzipped or
not.  Reading and writing needs pyarrow (``pip install pyarrow``); `records`, `codebook` and
`garbled_question` do not.

`formats` and `csv` read and write one file and keep the contract in `data_file`.  `batches`
privatizes its rows, and `shuffle` shuffles them, in the types of `data.compact`.  `plan` reads the
request, also from a document, `file_metadata` and `ledger` record the release, `file_records`
reads the records, and `atomic` publishes it.  `codebooks` reads declarations and `garbled_forms`
what an app garbled, both by way of the sheets that `xlsforms` opens.
`privatize_file`, `estimate_file` and `read_file` bring them together; `sign_off` shows the ledger
to those who decide.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from rrstats._names import missing_attribute
from rrstats.errors import MissingPackageError
from rrstats.files.codebooks import codebook
from rrstats.files.file_records import records
from rrstats.files.garbled_forms import garbled_question

__all__ = [
    "check_file",
    "codebook",
    "describe_file",
    "estimate_file",
    "garbled_question",
    "privatize_file",
    "read",
    "records",
    "sign_off",
    "statement_of",
    "tally_file",
]

WITHOUT_ARROW = ("codebook", "garbled_question", "records")
"""Functions that work without pyarrow."""


def _needing_arrow(name: str) -> Callable[..., NoReturn]:
    """A function in the place of one that needs pyarrow, which says how to install it."""

    def refuse(*_arguments: Any, **_keywords: Any) -> NoReturn:
        raise MissingPackageError(
            f"rr.files.{name} needs pyarrow; install pyarrow (pip install pyarrow)"
        )

    return refuse


try:
    from rrstats.files.estimate_file import (
        check_file,
        describe_file,
        estimate_file,
        statement_of,
        tally_file,
    )
    from rrstats.files.privatize_file import privatize_file
    from rrstats.files.read_file import read
    from rrstats.files.sign_off import sign_off
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "pyarrow":
        raise
    globals().update({name: _needing_arrow(name) for name in __all__ if name not in WITHOUT_ARROW})


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
