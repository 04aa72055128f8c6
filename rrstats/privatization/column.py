"""One column on its way from answers to reports, whole or in parts.

A `ColumnRelease` holds what was declared and where the words come from: a key of its own, fresh
from the operating system, or a secret one and the ids of the persons.  Answers outside the
categories are replaced by a uniform category from a stream of their own, for every mechanism
alike, and then randomized like all others.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_one_of, check_whole_number
from rrstats.data.categories import Categories, categories_to_json
from rrstats.data.columns import Column, Encoded, is_arrow_text, open_column, reader
from rrstats.data.identifiers import identity
from rrstats.errors import ArgumentTypeError, ArgumentValueError, UnknownAnswersError
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.records import Record
from rrstats.mechanisms.samples import Samples, check_aligned, sample_codes
from rrstats.randomness.keyed import KeyedColumn, KeyedRows
from rrstats.randomness.samplers import below
from rrstats.randomness.sources import BLOCK_ROWS, REPLACEMENT_STREAM, Source, open_source

UNKNOWN = ("warn", "uniform", "raise")
MISSING = ("unknown", "uniform", "keep", "raise")
"""Missing answers are treated as unknown ones, or made uniform without a word, kept, or refused."""


def _check_policies(unknown: object, missing: object, domain: Categories) -> None:
    check_one_of(unknown, "unknown", UNKNOWN)
    check_one_of(missing, "missing", MISSING)
    if domain.missing_code is not None and missing not in ("unknown", "uniform"):
        raise ArgumentValueError(
            f"missing={missing!r} contradicts the categories, which have a missing value: there, "
            "not answering is an answer like any other; leave missing= out"
        )


def _check_threads(threads: object, cells: Any) -> int:
    if threads is not None:
        return check_whole_number(threads, "threads", 1)
    # Arrow works on a block of text for milliseconds, and without the interpreter; blocks of
    # codes are so short that threads would wait for one another.
    return min(_cores(), 4) if is_arrow_text(cells) else 1


def _cores() -> int:
    """The processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def randomize_block(
    mechanism: Mechanism,
    encoded: Encoded,
    source: Source,
    block: int,
    samples: NDArray[np.intp] | None = None,
) -> NDArray[Any]:
    """Reports of one block of answers, of which those that no category serves are made uniform.

    encoded : given away; its codes may become the reports.
    samples : the sample of each row, where the mechanism has several.
    """
    codes, outside, k = encoded.codes, encoded.outside, mechanism.domain.k
    # Words are drawn for every row, so that they tell nothing of how many were unknown.
    codes[outside] = below(source, REPLACEMENT_STREAM, block, len(codes), bound=k, only=outside)
    if samples is not None:
        codes = cast(Samples, mechanism).join(codes, samples)
    return mechanism.randomize(codes, source, block)


def rounds_before(record: Record | None, again: bool) -> Any:
    """The rounds before, as far as known: keyed words of a second round must differ by them.

    record : what the data say of the column, if anything.
    """
    if record is not None:
        return record.mechanism
    return "unsaid" if again else None


def _keyed_column(
    key: Any, question: Hashable, mechanism: Mechanism, *, rng: Any, before: Any
) -> KeyedColumn:
    if rng is not None:
        raise ArgumentTypeError("key and rng both say where the noise comes from; give one")
    if question is None:
        raise ArgumentTypeError(
            "keyed reports need a name of what was asked, so that no two columns share noise: give "
            "a Series that has a name, or question="
        )
    # Both raise for what has no JSON form: words must follow from the same document tomorrow.
    (asked,) = categories_to_json([question])
    return KeyedColumn(key, asked, mechanism.to_dict(), before)


def is_list_of_columns(ids: Any) -> bool:
    """True where ids are several columns that name a person together."""
    held = ids[0] if isinstance(ids, list | tuple) and ids else ""
    return hasattr(held, "__len__") and not isinstance(held, str | bytes)


class ColumnRelease:
    """One column, privatized whole or in parts: all declarations checked, nothing drawn yet.

    like : the column, or any cells of its type: only the type counts here.
    mechanism, unknown, missing, rng, threads : as for `privatize`.
    column : the place of the column in the release; columns never share words.
    key, question : for keyed reports, the secret and what was asked; see `keyed`.
    before : what is known of earlier rounds, from `rounds_before`.
    Each part gets the next blocks of words of one key, so parts never share noise either, from
    whatever thread they come; a forked process must make its own, and a copy is refused.
    ``rows``, ``unknown`` and ``missing`` count the answers so far that were given, that are
    outside the categories, and that are missing where missing is not a category; they are the
    steward's, and private.

    >>> import numpy as np, rrstats as rr
    >>> release = ColumnRelease(np.array([], dtype=int), rr.KRR([1, 2, 3], 0.5))
    >>> len(release.reports(np.array([1, 2]))), len(release.reports(np.array([3]))), release.rows
    (2, 1, 3)
    """

    def __init__(
        self,
        like: Any,
        mechanism: Mechanism,
        *,
        unknown: str = "warn",
        missing: str = "unknown",
        rng: Any = None,
        column: int = 0,
        threads: int | None = None,
        key: Any = None,
        question: Hashable = None,
        before: Any = None,
    ) -> None:
        _check_policies(unknown, missing, mechanism.domain)
        self._keyed = (
            None if key is None else _keyed_column(key, question, mechanism, rng=rng, before=before)
        )
        container = open_column(like)
        self._threads = _check_threads(threads, container.cells)
        self.mechanism = mechanism
        self._read = reader(mechanism.domain, container.cells)
        self._layout = container.layout(mechanism.report_space, keep_missing=missing == "keep")
        self.type = self._layout.type
        self._answer_type = container.dtype
        self._policies = {"unknown": unknown, "missing": missing}
        self._rng, self._column = rng, column
        self._source: Source | None = None
        self._process = os.getpid()
        self._blocks = 0
        self._one_at_a_time = threading.Lock()
        self.rows = self.unknown = self.missing = 0

    @property
    def secure(self) -> bool:
        """True where the reports may be released: their noise was not simulated."""
        return self._keyed is not None or self.source.secure

    @property
    def source(self) -> Source:
        """The source of the words; its key is drawn when first asked for."""
        with self._one_at_a_time:
            if self._source is None:
                self._source = open_source(self._rng, column=self._column)
            return self._source

    def _take_blocks(self, count: int) -> int:
        """The first of the next blocks, which nobody else gets, even if drawing them fails."""
        if os.getpid() != self._process:
            raise ArgumentTypeError(
                "a ColumnRelease cannot go on in a forked process: both would draw the same noise; "
                "create one in each process"
            )
        with self._one_at_a_time:
            first = self._blocks
            self._blocks += count
            return first

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "a ColumnRelease cannot be pickled: two copies would share their noise"
        )

    @property
    def outside(self) -> int:
        """The number of answers so far that the policies treat as unknown."""
        return self.unknown + (self.missing if self._policies["missing"] == "unknown" else 0)

    @property
    def warns(self) -> bool:
        """True where the named warning is due."""
        return bool(self._policies["unknown"] == "warn" and self.outside)

    def look(self, values: Any) -> None:
        """Count what the policies may refuse among some answers; draws nothing."""
        container = open_column(values)
        for rows in self._parts(container):
            encoded = self._read(container.cells[rows])
            self._add(len(encoded.codes), encoded.unknown, encoded.missing)

    def refuse(self) -> None:
        """Raise UnknownAnswersError for answers seen so far that were asked to be refused.

        Then counts from the beginning: what was looked at is still to be privatized.
        """
        unknown, missing = self.unknown, self.missing
        outside, rows, domain = self.outside, self.rows, self.mechanism.domain
        self.rows = self.unknown = self.missing = 0
        if self._policies["missing"] == "raise" and missing:
            raise UnknownAnswersError(
                f"{missing} of {rows} answers are missing; declare None among the categories "
                "(--with-missing), choose missing='uniform' or missing='keep', or drop them first"
            )
        if self._policies["unknown"] == "raise" and outside:
            absent = outside - unknown
            raise UnknownAnswersError(
                f"{outside} of {rows} answers are not among the {domain.k} categories "
                f"{domain.describe()} ({absent} missing; answer type: {self._type_name}); "
                "rr.check (rrstats check) lists them for the steward"
            )

    @property
    def may_refuse(self) -> bool:
        """True where answers must be looked at before anything is drawn."""
        return "raise" in self._policies.values()

    def reports(self, values: Any, group: Any = None, ids: Any = None) -> Any:
        """The reports of the next answers, in the container that came in.

        group : the sample of each answer, where the mechanism has several.  ids : of keyed
        reports, who each answer is of: a column, or a list of columns.
        """
        container = open_column(values)
        samples = self.samples_of(group, container.rows, values)
        keyed = ids if isinstance(ids, KeyedRows) else self.rows_of(ids, container.rows, values)
        keep, k = self._policies["missing"] == "keep", self.mechanism.domain.k
        builder = self._layout.builder(container.rows)
        parts = list(enumerate(self._parts(container)))
        first = self._take_blocks(len(parts)) if keyed is None else 0
        fresh: Any = self.source if keyed is None else None

        def one_block(part: tuple[int, slice]) -> tuple[int, int]:
            block, rows = part
            encoded = self._read(container.cells[rows])
            absent = encoded.absent
            found = encoded.unknown, len(absent)
            mine = None if samples is None else samples[rows]
            source = fresh
            if keyed is not None:  # unknown and missing answers are one value more
                asked = np.minimum(encoded.codes.astype(np.uint64), k)
                if mine is not None:
                    asked += mine.astype(np.uint64) * np.uint64(k + 1)
                source = keyed.words(rows, asked)
            codes = randomize_block(self.mechanism, encoded, source, first + block, mine)
            builder.write(rows, codes, absent if keep else None)
            return found

        if self._threads == 1 or len(parts) < 2:
            found = [one_block(part) for part in parts]
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(min(self._threads, len(parts))) as pool:
                found = list(pool.map(one_block, parts))
        for (_, rows), (unknown, missing) in zip(parts, found, strict=True):
            self._add(rows.stop - rows.start, unknown, missing)
        return container.wrap(builder.reports())

    def samples_of(self, group: Any, rows: int, values: Any) -> NDArray[np.intp] | None:
        """The sample of each row, where the mechanism has several; raises where they do not fit."""
        if group is None and self.mechanism.groups is None:
            return None
        return sample_codes(self.mechanism, group, rows, values)

    def rows_of(self, ids: Any, rows: int, values: Any) -> KeyedRows | None:
        """Rows whose words depend on ids, for `reports`; None for fresh noise.

        Raises unless there are ids of all rows where reports are keyed, and only there.
        """
        if self._keyed is None:
            if ids is not None:
                raise ArgumentTypeError("ids belong to keyed reports; give key= too")
            return None
        if ids is None:
            raise ArgumentTypeError(
                "keyed reports need to know of whom each answer is: give id= (or leave key= out "
                "for fresh noise)"
            )
        columns = ids if is_list_of_columns(ids) else [ids]
        for column in columns:
            check_aligned(values, column, "id")
        found = [identity(column) for column in columns]
        if unlike := [one.rows for one in found if one.rows != rows]:
            raise ArgumentValueError(
                f"id must have one value for each of the {rows} answers, found {unlike[0]}"
            )
        return self._keyed.rows(found)

    def facts(self, record: Record | None = None) -> dict[str, Any]:
        """The facts of the column's record, where ``record`` tells of its reports before, if any.

        Whoever has the key of an earlier round sees through it.
        """
        keyed = self._keyed is not None or (record is not None and record.keyed)
        return {**self._policies, "simulated": not self.secure, "keyed": keyed}

    @staticmethod
    def _parts(container: Column) -> list[slice]:
        rows = container.rows
        return [slice(at, min(at + BLOCK_ROWS, rows)) for at in range(0, rows, BLOCK_ROWS)]

    def _add(self, rows: int, unknown: int, missing: int) -> None:
        with self._one_at_a_time:
            self.rows += rows
            self.unknown += unknown
            self.missing += missing

    @property
    def _type_name(self) -> str:
        """The answers' type; NumPy's names for text would tell the longest answer's length."""
        dtype = self._answer_type
        if isinstance(dtype, np.dtype) and dtype.kind in "SU":
            return "text" if dtype.kind == "U" else "bytes"
        if isinstance(dtype, np.dtype) and dtype.kind == "T":  # its repr quotes what is missing
            return "text"
        return str(getattr(dtype, "subtype", dtype))  # a sparse type quotes its fill value
