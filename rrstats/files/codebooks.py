"""Codebooks: the possible answers of each column, as a file declares them beside its data.

Value labels of Stata and SPSS files, ``enum`` and bounds of a Table Schema, the choices of an
XLSForm, or a JSON object written by hand.  Rows of answers are never read: categories that are
taken from answers tell answers.
"""

from __future__ import annotations

import datetime
import io
import os
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from rrstats._checks import check_ending, check_one_of, naming_column, needing, quote
from rrstats._display import columns, counted, label
from rrstats._names import checked_keywords
from rrstats.data.categories import Categories
from rrstats.data.category_json import categories_from_json
from rrstats.data.declared import whole_words
from rrstats.errors import ArgumentValueError, MetadataError, RRStatsError
from rrstats.files.atomic import named
from rrstats.files.xlsforms import choices_of
from rrstats.mechanisms.documents import parse_json
from rrstats.mechanisms.krr import answers_of
from rrstats.mechanisms.number_design import number

_MAX_SHOWN = 40
"""The number of columns that a codebook prints."""

_LAST_STATA_CODE = 2_147_483_620
"""The largest number of Stata; codes above it are the missing values ``.`` and ``.a`` to ``.z``."""

_STATA_LENGTH_BYTES = 4
"""The size of the length of a set of labels; before Stata 13 the file ends where none follows."""

_STATA_END = b"</stata_dta>"
"""The end of files since Stata 13, which begin with the same mark without the slash."""

NO_ANSWER = ("raise", "category", "missing")
"""Treatments of a category whose label says that there is no answer."""

_NO_ANSWER_LABELS = frozenset(
    {
        *("no answer", "no response", "no reply", "non-response", "nonresponse", "not answered"),
        *("refused", "refusal", "refused to answer", "prefer not to say", "prefer not to answer"),
        *("missing", "not applicable", "inapplicable", "n/a", "not asked", "not stated", "skipped"),
    }
)

Pairs = list[tuple[Any, Any]]
"""The codes of a column and their labels, None for a code without one."""

Declare = Callable[[Pairs], Any]
"""The categories of such pairs; raises for those that cannot be used."""

Declared = dict[str, Callable[[], Any]]
"""For each column a function that makes its declaration, or raises for one that cannot be used."""


class Codebook(Mapping[str, Any]):
    """The declarations of a file by column, as `codebook` reads them; it cannot be changed.

    A column is a list of categories, a mapping from code to label, or a `number`.  Looking up a
    column that cannot be used raises ArgumentValueError or ArgumentTypeError with the reason, which
    the printed table shows, too; other columns still work.
    """

    def __init__(self, source: str, declared: Declared) -> None:
        self._source = source
        self._declared = declared

    def __getitem__(self, name: str) -> Any:
        declare = self._declared[name]
        with naming_column(name):
            return declare()

    def __contains__(self, name: object) -> bool:
        return name in self._declared

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)

    def _described(self, name: str) -> str:
        """The declaration of a column in words, or why it cannot be used."""
        try:
            return answers_of(self[name]).describe()
        except RRStatsError as error:
            return f"cannot be used: {str(error).partition(': ')[2]}"

    def __repr__(self) -> str:
        names = list(self)[:_MAX_SHOWN]
        rows = [["column", "declared"], *([label(n), label(self._described(n))] for n in names)]
        if len(self) > _MAX_SHOWN:
            rows.append(["...", f"{len(self)} in all"])
        title = f"Codebook of {label(self._source)}: {counted(len(self), 'column')}"
        return f"{title}\n{columns(rows, left=2)}"


@checked_keywords
def codebook(path: str | PathLike[str], *, no_answer: str = "raise") -> Codebook:
    """Read the declaration of each column from a file; its rows of answers are never read.

    Parameters
    ----------
    path : path
        A Stata file (.dta) or SPSS file (.sav, .zsav; needs pyreadstat) with value labels; an
        XLSForm (.xlsx; needs openpyxl); or a .json file: a Table Schema, alone or in a data
        resource or data package, or an object from column to categories, as below.
    no_answer : {"raise", "category", "missing"}
        Treatment of a category whose label says that there is no answer, such as "refused".
        "raise" refuses the column, so that it is decided on purpose; "category" keeps it, protected
        like the others; "missing" leaves it out: such answers must then be missing in the data.

    Returns
    -------
    Codebook
        A read-only mapping from column to a list of categories, a mapping from code to label, or a
        `number`, which `privatize` takes; it prints as a table.  Select the sensitive columns, as
        in ``{name: book[name] for name in ["smokes", "age"]}``.

    Raises
    ------
    MetadataError
        The file cannot be read in its format, or declares no column.
    FileError
        There is no such file.
    MissingPackageError
        pyreadstat or openpyxl is not installed.

    Notes
    -----
    Codes that SPSS or Stata declare as missing, and ``missingValues`` of a Table Schema, are no
    categories.  Of a Table Schema ``enum``, ``categories`` and the type boolean give categories,
    and ``minimum`` with ``maximum`` a number.  Codes of an XLSForm that are all whole numbers are
    integers, as CSV files of its answers are read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "book.json")
    >>> text = '''{"smokes": ["no", "yes"], "health": {"1": "good", "2": "poor"},
    ...            "age": {"low": 18, "high": 90}}'''
    >>> _ = path.write_text(text)
    >>> codebook(path)
    Codebook of book.json: 3 columns
      column  declared
      smokes  ['no', 'yes']
      health  {1: 'good', 2: 'poor'}
      age     numbers from 18 to 90
    """
    check_one_of(no_answer, "no_answer", NO_ANSWER)
    place = Path(path)
    check_ending(place, "path", _READERS)
    kind, read = _READERS[place.suffix.lower()]
    with named(f"cannot read {place}"):
        place.open("rb").close()
    try:
        declared = read(place, partial(_categories, no_answer))
    except ArgumentValueError as error:  # of a workbook, which is the argument of other functions
        raise MetadataError(f"{place} cannot be read as {kind}: {error}") from None
    except RRStatsError:
        raise
    except Exception as error:  # of another library, whose words may quote the file
        raise MetadataError(f"{place} cannot be read as {kind}: {type(error).__name__}") from None
    if not declared:
        raise MetadataError(f"{place} declares the answers of no column; it was read as {kind}")
    return Codebook(place.name, declared)


def _categories(no_answer: str, pairs: Pairs) -> list[Hashable] | dict[Hashable, str]:
    """Categories from codes and their labels, checked; a list where there are no labels."""
    words = [code if text is None else text for code, text in pairs]
    silent = [place for place, word in enumerate(words) if _says_no_answer(word)]
    if silent and no_answer == "raise":
        raise ArgumentValueError(
            f"category number {silent[0] + 1}, labelled {quote(words[silent[0]])}, says that there "
            "is no answer: declare it as missing (no_answer='missing', and such answers missing in "
            "the data), or as a category on purpose (no_answer='category')"
        )
    if no_answer == "missing":
        pairs = [pair for place, pair in enumerate(pairs) if place not in silent]
    codes = [int(c) if isinstance(c, float) and c.is_integer() else c for c, _ in pairs]
    listed = list(Categories(codes).categories)
    if all(text is None for _, text in pairs):
        return listed
    labels = [
        str(code) if text is None else text for code, (_, text) in zip(codes, pairs, strict=True)
    ]
    codes_to_labels = dict(zip(listed, labels, strict=True))
    Categories(codes_to_labels)
    return codes_to_labels


def _says_no_answer(word: object) -> bool:
    """True for words such as "-9. Refused", which say that there is no answer."""
    if not isinstance(word, str):
        return False
    return re.sub(r"^[\W\d_]+|[\W_]+$", "", word.casefold()) in _NO_ANSWER_LABELS


class _UncutFile(io.FileIO):
    """A file that ends only where the length of a next part may stand; pandas takes cut labels."""

    def read(self, size: int | None = -1, /) -> Any:
        content: Any = super().read(size)
        may_end = not content and size == _STATA_LENGTH_BYTES
        if size is not None and len(content) < size and not may_end:
            raise EOFError
        return content


def _stata(path: Path, declare: Declare) -> Declared:
    """The value labels of a Stata file, which stand behind its rows."""
    with _UncutFile(path) as file:
        reader: Any = pd.read_stata(file, iterator=True)
        with reader:
            label_sets = reader.value_labels()
            set_names = dict(zip(reader._varlist, reader._lbllist, strict=True))
        file.seek(0)
        is_marked = file.read(len(_STATA_END) - 1) == _STATA_END.replace(b"/", b"")
        file.seek(-len(_STATA_END), os.SEEK_END)
        is_whole = file.read() == _STATA_END
    if not is_marked:
        is_whole = {*filter(None, set_names.values())} <= {*label_sets}
    if not is_whole:
        raise MetadataError(
            f"{path} is not whole: labels of its columns are missing at its end; copy it again, or "
            "save it anew in Stata"
        )
    pairs = {
        name: [(int(code), text) for code, text in labels.items() if code <= _LAST_STATA_CODE]
        for name, labels in label_sets.items()
    }
    return {
        name: partial(declare, pairs[of_set])
        for name, of_set in set_names.items()
        if of_set in pairs
    }


def _spss(path: Path, declare: Declare) -> Declared:
    """The value labels of an SPSS file, without those of missing values."""
    with needing("codebooks of SPSS need pyreadstat; install pyreadstat (pip install pyreadstat)"):
        import pyreadstat
    facts: Any
    _, facts = pyreadstat.read_sav(path, metadataonly=True, user_missing=True)
    declared: Declared = {}
    for name, labels in facts.variable_value_labels.items():
        missing = facts.missing_ranges.get(name, [])
        pairs = [
            (code, text)
            for code, text in labels.items()
            if not any(each["lo"] <= code <= each["hi"] for each in missing)
        ]
        declared[name] = partial(declare, pairs)
    return declared


def _xlsform(path: Path, declare: Declare) -> Declared:
    """The choices of an XLSForm's questions."""
    return {name: partial(declare, pairs) for name, pairs in choices_of(path).items()}


# -- JSON ------------------------------------------------------------------------------------------


def _json(path: Path, declare: Declare) -> Declared:
    """A Table Schema, alone or in a resource or a package; or an object from column to answers."""
    document = parse_json(path.read_bytes().decode("utf-8-sig"))
    if not isinstance(document, dict):
        raise MetadataError(f"{path} must hold a JSON object, found {type(document).__name__}")
    resources = [part for part in document.get("resources", []) if isinstance(part, dict)]
    nested = [part.get("schema") for part in [document, *resources]]
    schemas: list[Any] = [schema for schema in [document, *nested] if _is_schema(schema)]
    if len(schemas) > 1:
        raise MetadataError(
            f"{path} describes {len(schemas)} tables; save the schema of one as a file of its own"
        )
    if schemas:
        return _table_schema(schemas[0], declare)
    return {name: _declaration(value, declare) for name, value in document.items()}


def _is_schema(document: Any) -> bool:
    """True for a Table Schema: a list of fields with names."""
    fields = document.get("fields") if isinstance(document, dict) else None
    return isinstance(fields, list) and all(
        isinstance(field, dict) and "name" in field for field in fields
    )


def _declaration(value: Any, declare: Declare) -> Callable[[], Any]:
    """A column of a JSON object: categories, an object from code to label, or bounds."""
    if isinstance(value, list):
        return partial(_listed, value, declare)
    if isinstance(value, dict) and "low" in value and not isinstance(value["low"], str):
        return partial(number, **{"high": None, **value})
    if isinstance(value, dict):
        return partial(declare, list(zip(whole_words(list(value)), value.values(), strict=True)))
    raise MetadataError(
        "a JSON codebook must be a Table Schema, or an object from column to a list of categories, "
        'an object from code to label, or bounds: {"smokes": ["no", "yes"], "health": {"1": '
        '"good", "2": "poor"}, "age": {"low": 18, "high": 90}}'
    )


def _listed(values: list[Any], declare: Declare) -> Any:
    """The categories of a list in JSON, bare, tagged or with labels."""
    categories = categories_from_json(values)
    labels = categories if isinstance(categories, dict) else {}
    return declare([(code, labels.get(code)) for code in categories])


_CASTS: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "year": int,
    "number": float,
    "date": datetime.date.fromisoformat,
}
"""Values of a Table Schema's type from text, as which a schema may write them."""


def _table_schema(schema: Mapping[str, Any], declare: Declare) -> Declared:
    """The fields of a Table Schema that declare their answers."""
    declared: Declared = {}
    for field in schema["fields"]:
        cast = _CASTS.get(field.get("type"), str)
        rules = field.get("constraints", {})
        pairs = _field_pairs(field, rules.get("enum"))
        missing = field.get("missingValues", schema.get("missingValues", [""]))
        absent = [item["value"] if isinstance(item, dict) else item for item in missing]
        if pairs is not None:
            kept = [(code, text) for code, text in pairs if str(code) not in absent]
            typed = [(cast(c) if isinstance(c, str) else c, text) for c, text in kept]
            declared[field["name"]] = partial(declare, typed)
        elif cast in (int, float) and {"minimum", "maximum"} <= {*rules}:
            ends = [rules["minimum"], rules["maximum"]]
            bounds = [cast(end) if isinstance(end, str) else end for end in ends]
            declared[field["name"]] = partial(number, *bounds)
    return declared


def _field_pairs(field: Mapping[str, Any], enum: Any) -> Pairs | None:
    """The values of a field and their labels; None where it does not list its values."""
    categories = field.get("categories")
    labels = {}
    if isinstance(categories, list):  # an object names another table
        items = [item if isinstance(item, dict) else {"value": item} for item in categories]
        labels = {item["value"]: item.get("label") for item in items}
    elif field.get("type") == "boolean":
        labels = dict.fromkeys((False, True))
    values = list(labels) or None if enum is None else enum
    return None if values is None else [(value, labels.get(value)) for value in values]


_READERS: dict[str, tuple[str, Callable[[Path, Declare], Declared]]] = {
    ".dta": ("a Stata file with value labels", _stata),
    ".sav": ("an SPSS file with value labels", _spss),
    ".zsav": ("an SPSS file with value labels", _spss),
    ".xlsx": ("an XLSForm", _xlsform),
    ".json": ("a codebook in JSON", _json),
}
"""By ending, the format in words and its reader."""
