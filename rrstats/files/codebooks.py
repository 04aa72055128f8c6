"""Codebooks: the possible answers of each column, as a file declares them beside its data.

Value labels of Stata and SPSS files, ``enum`` and bounds of a Table Schema, the choices of an
XLSForm, or a JSON object written by hand.  Rows of answers are never read: categories that are
taken from answers tell answers.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from rrstats._checks import check_ending, check_one_of, naming_column, needing, quote
from rrstats._display import as_fragment, columns, counted, label
from rrstats._names import checked_keywords
from rrstats.data.categories import Categories, categories_from_json
from rrstats.data.declared import whole_words
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError, RRStatsError
from rrstats.files.atomic import named
from rrstats.files.xlsforms import choices_of
from rrstats.mechanisms.krr import answers_of
from rrstats.mechanisms.number_design import number

_MAX_SHOWN = 40
"""The number of columns that a codebook prints."""

_MAX_LETTERS = 90
"""The length up to which it prints the categories of one."""

_LAST_STATA_CODE = 2_147_483_620
"""The largest number of Stata; codes above it are the missing values ``.`` and ``.a`` to ``.z``."""

NO_ANSWER = ("raise", "category", "missing")
"""Treatments of a category whose label says that there is no answer."""

_NO_ANSWER_LABELS = frozenset(
    {
        *("no answer", "no response", "no reply", "non-response", "nonresponse", "not answered"),
        *("refused", "refusal", "refused to answer", "prefer not to say", "prefer not to answer"),
        *("missing", "not applicable", "inapplicable", "n/a", "not asked", "not stated", "skipped"),
    }
)

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
            text = answers_of(self[name]).describe()
        except RRStatsError as error:
            return f"cannot be used: {str(error).partition(': ')[2]}"
        return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 3]}..."

    @property
    def _rows(self) -> list[list[str]]:
        """The header and a row for each column, as far as they are printed."""
        names = list(self)[:_MAX_SHOWN]
        rows = [["column", "declared"], *([label(n), label(self._described(n))] for n in names)]
        return [*rows, ["...", f"{len(self)} in all"]] if len(self) > _MAX_SHOWN else rows

    @property
    def _title(self) -> str:
        return f"Codebook of {label(self._source)}: {counted(len(self), 'column')}"

    def __repr__(self) -> str:
        return f"{self._title}\n{columns(self._rows, left=2)}"

    def _repr_html_(self) -> str:
        header, *rows = self._rows
        return as_fragment([("text", self._title), ("table", (header, rows))])


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
    except RRStatsError:
        raise
    except Exception as error:  # of another library, whose words may quote the file
        raise MetadataError(f"{place} cannot be read as {kind}: {type(error).__name__}") from None
    if not declared:
        raise MetadataError(f"{place} declares the answers of no column; it was read as {kind}")
    return Codebook(place.name, declared)


def _categories(
    no_answer: str, codes: Sequence[Any], labels: Sequence[Any] | None = None
) -> list[Hashable] | dict[Hashable, str]:
    """Categories from codes and their labels, None for a code without one; checked."""
    plain = [int(code) if isinstance(code, float) and code.is_integer() else code for code in codes]
    words = plain if labels is None else labels
    silent = [place for place, word in enumerate(words) if _says_no_answer(word)]
    if silent and no_answer == "raise":
        place = silent[0]
        raise ArgumentValueError(
            f"category number {place + 1}, labelled {quote(words[place])}, says that there is no "
            "answer: declare it as missing (no_answer='missing', and such answers missing in the "
            "data), or as a category on purpose (no_answer='category')"
        )
    kept = [p for p in range(len(plain)) if no_answer == "category" or p not in silent]
    listed = [plain[place] for place in kept]
    domain = Categories(listed)
    if labels is None:
        return listed
    own = [str(plain[place]) if labels[place] is None else labels[place] for place in kept]
    codes_to_labels = dict(zip(domain.categories, own, strict=True))
    Categories(codes_to_labels)
    return codes_to_labels


def _says_no_answer(word: object) -> bool:
    """True for words such as "-9. Refused", which say that there is no answer."""
    if not isinstance(word, str):
        return False
    return re.sub(r"^[\W\d_]+|[\W_]+$", "", word.casefold()) in _NO_ANSWER_LABELS


Declare = Callable[..., Any]
"""`_categories`, with the treatment of no answer."""


def _stata(path: Path, declare: Declare) -> Declared:
    """The value labels of a Stata file, which stand behind its rows."""
    reader: Any = pd.read_stata(path, iterator=True)
    with reader:
        label_sets = reader.value_labels()
        set_names = dict(zip(reader._varlist, reader._lbllist, strict=True))
    declared: Declared = {}
    for name, set_name in set_names.items():
        if set_name in label_sets:
            pairs = [(int(c), text) for c, text in label_sets[set_name].items()]
            pairs = [pair for pair in pairs if pair[0] <= _LAST_STATA_CODE]
            declared[name] = partial(declare, [c for c, _ in pairs], [text for _, text in pairs])
    return declared


def _spss(path: Path, declare: Declare) -> Declared:
    """The value labels of an SPSS file, without those of missing values."""
    with needing("codebooks of SPSS need pyreadstat; install pyreadstat (pip install pyreadstat)"):
        import pyreadstat
    facts: Any
    _, facts = pyreadstat.read_sav(path, metadataonly=True, user_missing=True)
    declared: Declared = {}
    for name, labels in facts.variable_value_labels.items():
        ranges = facts.missing_ranges.get(name, [])
        codes = [
            code for code in labels if not any(each["lo"] <= code <= each["hi"] for each in ranges)
        ]
        declared[name] = partial(declare, codes, [labels[code] for code in codes])
    return declared


def _xlsform(path: Path, declare: Declare) -> Declared:
    """The choices of an XLSForm's questions."""
    declared: Declared = {}
    for name, choices in choices_of(path).items():
        codes = choices["codes"]
        if all(isinstance(code, str) for code in codes):
            codes = whole_words([str(code) for code in codes])
        declared[name] = partial(declare, codes, choices["labels"])
    return declared


# -- JSON ------------------------------------------------------------------------------------------


def _json(path: Path, declare: Declare) -> Declared:
    """A Table Schema, alone or in a resource or a package; or an object from column to answers."""
    document = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_distinct)
    if not isinstance(document, dict):
        raise MetadataError(f"{path} must hold a JSON object, found {type(document).__name__}")
    resources = document.get("resources")
    parts = [resource for resource in resources if isinstance(resource, dict)] if resources else []
    nested = [part.get("schema") for part in [document, *parts]]
    schemas: list[Any] = [schema for schema in [document, *nested] if _is_schema(schema)]
    if len(schemas) > 1:
        raise MetadataError(
            f"{path} describes {len(schemas)} tables; save the schema of one as a file of its own"
        )
    if schemas:
        return _table_schema(schemas[0], declare)
    return {name: _declaration(value, declare) for name, value in document.items()}


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; raises for a name that stands twice, of which JSON would lose one."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MetadataError("a JSON object of the codebook has a name twice; keep one")
    return found


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
        return partial(declare, whole_words(list(value)), list(value.values()))
    raise MetadataError(
        "a JSON codebook must be a Table Schema, or an object from column to a list of categories, "
        'an object from code to label, or bounds: {"smokes": ["no", "yes"], "health": {"1": '
        '"good", "2": "poor"}, "age": {"low": 18, "high": 90}}'
    )


def _listed(values: list[Any], declare: Declare) -> Any:
    """The categories of a list in JSON, bare, tagged or with labels."""
    categories = categories_from_json(values)
    labels = list(categories.values()) if isinstance(categories, dict) else None
    return declare(list(categories), labels)


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
        kind = field.get("type", "any")
        bounds = field.get("constraints") or {}
        labels = _category_labels(field.get("categories"))
        values = bounds.get("enum", None if labels is None else list(labels))
        if values is None and kind == "boolean":
            values = [False, True]
        missing = field.get("missingValues", schema.get("missingValues", [""]))
        absent = {str(item["value"] if isinstance(item, dict) else item) for item in missing}
        if values is not None:
            codes = [value for value in values if str(value) not in absent]
            own = None
            if labels is not None and any(labels.values()):
                own = [labels.get(value) for value in codes]
            declared[field["name"]] = partial(_cast, kind, codes, own, declare)
        elif kind in ("integer", "number") and {"minimum", "maximum"} <= {*bounds}:
            declared[field["name"]] = partial(_bounded, kind, bounds["minimum"], bounds["maximum"])
    return declared


def _category_labels(categories: Any) -> dict[Any, str | None] | None:
    """The label of each value in ``categories`` of a field; None without such a list."""
    if not isinstance(categories, list):
        return None
    items = [item if isinstance(item, dict) else {"value": item} for item in categories]
    return {item["value"]: item.get("label") for item in items}


def _cast(kind: str, codes: list[Any], labels: list[Any] | None, declare: Declare) -> Any:
    """The categories of a field, in its type."""
    cast = _CASTS.get(kind)
    try:
        typed = [cast(code) if cast and isinstance(code, str) else code for code in codes]
    except ValueError:
        raise ArgumentTypeError(f"enum must have values of the type {kind}") from None
    return declare(typed, labels)


def _bounded(kind: str, low: Any, high: Any) -> Any:
    """A number between the bounds of a field, which may be written as text."""
    lower, upper = (_CASTS[kind](end) if isinstance(end, str) else end for end in (low, high))
    return number(lower, upper)


_READERS: dict[str, tuple[str, Callable[[Path, Declare], Declared]]] = {
    ".dta": ("a Stata file with value labels", _stata),
    ".sav": ("an SPSS file with value labels", _spss),
    ".zsav": ("an SPSS file with value labels", _spss),
    ".xlsx": ("an XLSForm", _xlsform),
    ".json": ("a codebook in JSON", _json),
}
"""By ending, the format in words and its reader."""
