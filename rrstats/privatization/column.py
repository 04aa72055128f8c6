"""Randomization of one column, whole or in parts.

A `ColumnRelease` holds the declared design and the source of random words: a fresh key from the
operating system, or a secret key together with the persons' ids.  For every mechanism, answers
outside the categories are first replaced by a uniformly random category, drawn from a separate
stream, and then randomized like all others.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from rrstats._checks import check_instance, check_rows, check_whole_number, quote
from rrstats._typing import Array, Floats, Indices
from rrstats.data.arrow import arrow_type
from rrstats.data.category_json import categories_to_json
from rrstats.data.cell_types import kind_of_type
from rrstats.data.codecs import codec_of
from rrstats.data.columns import Column, aligned, blocks, open_column
from rrstats.data.encoders import Encoded, bound_reader, reader
from rrstats.data.identifiers import identity
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms.base import Chain, Mechanism
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.records import ColumnRecord, check_policies, missing_policy
from rrstats.mechanisms.samples import sample_codes
from rrstats.randomness.keyed import Identity, KeyedColumn
from rrstats.randomness.samplers import below
from rrstats.randomness.sources import (
    BLOCK_ROWS,
    REPLACEMENT_STREAM,
    SecureGenerator,
    Source,
    Unpicklable,
    open_source,
)

_FIRST_ROWS = 64
"""Rows that nearly always show the categories in another order than the declared one."""


def randomize_block(
    mechanism: Mechanism,
    encoded: Encoded,
    source: Source,
    block: int,
    *,
    samples: Indices | None = None,
    probs: Floats | None = None,
) -> Array:
    """Randomize one block of answers, after replacing those that match no category.

    encoded : the encoded answers; their codes may be overwritten by the reports.
    samples : the sample of each row, for mechanisms with several samples.
    probs : the prob of each row, for a k-RR whose prob differs by row.
    """
    codes = encoded.codes
    outside = encoded.outside
    answers = mechanism.domain.answers
    # Words are drawn for every row, so their number does not depend on how many are unknown.
    codes[outside] = below(
        source, REPLACEMENT_STREAM, block, len(codes), bound=answers, only=outside
    )
    codes = mechanism.join(codes, samples)
    if probs is None:
        return mechanism.randomize(codes, source, block)
    krr: KRR = check_instance(mechanism, "mechanism", KRR, "a k-RR, whose prob may differ by row")
    return krr.randomize(codes, source, block, probs)


def threads_for(column: Column, threads: object) -> int:
    """The number of threads for a large column; the default is above 1 only for text.

    Arrow works on a block of text for milliseconds without holding the interpreter lock; blocks
    of codes are so short that threads would wait for one another.
    """
    if threads is not None:
        return check_whole_number(threads, "threads", 1)
    if arrow_type(column.dtype) is None or kind_of_type(column.dtype) != "str":
        return 1
    return min(4, os.cpu_count() or 1)


def chained(
    record: ColumnRecord, mechanism: Mechanism, *, again: bool, missing: str, rng: Any
) -> Chain:
    """The chain of both rounds, for data whose ``record`` says that they are already reports."""
    is_final = record.plan is not None or record.by_row is not None or record.is_number
    if is_final or not again:
        hint = (
            "again=True (--again) randomizes the reports once more (post-processing, no new "
            "privacy loss)"
        )
        if is_final:
            hint = (
                "reports of a number, of a plan, or with a probability for each row, are not "
                "randomized once more"
            )
        raise MetadataError(
            f"column {record.name!r} is recorded as holding reports already; {hint}; for a new "
            "release of the true answers start from the original data, and add up the epsilons"
        )
    if record.simulated and (rng is None or isinstance(rng, SecureGenerator)):
        raise MetadataError(
            f"column {record.name!r} holds simulated reports: a person who knows the seed can "
            "undo the first round; start from the original data, or simulate the second round too"
        )
    if record.missing == "keep" and missing != "keep":
        raise ArgumentValueError(
            f"column {record.name!r} was privatized with missing='keep', which published who did "
            "not answer; give missing='keep' again, so that those rows stay out of the counts"
        )
    return Chain(record.resolve(), mechanism)


class Answers(NamedTuple):
    """Answers to privatize: their column, and the sample, the person and the prob of each."""

    column: Column
    samples: Indices | None
    ids: list[Identity]
    probs: Floats | None = None


class ColumnAnswers(Unpicklable):
    """The answers of one column to privatize: how they are read and counted.

    opened : the column, or any cells of its type; only the type matters here.
    mechanism, unknown, missing : as for `ColumnRelease`.
    leaves_missing : whether reports may be missing.
    ``recorded`` is the mechanism to record; ``facts`` are the other facts of the record.
    ``rows`` counts the answers so far, ``unknown`` those outside the categories, and ``missing``
    the missing ones if missing is not a category; all three are for the data curator only.
    ``refused`` counts those that the policies refuse: reports of all are drawn, and must be dropped
    if it counts any.  ``secure`` is true if the noise is not simulated, so that the reports may be
    released.
    """

    def __init__(
        self,
        opened: Column,
        mechanism: Mechanism,
        *,
        unknown: str,
        missing: str,
        leaves_missing: bool,
    ) -> None:
        check_policies(unknown, missing)
        if mechanism.domain.missing_code is not None and missing not in ("unknown", "uniform"):
            raise ArgumentValueError(
                f"missing={missing!r} contradicts the categories, which have a missing value: "
                "a missing answer is then a category like any other; leave missing= out"
            )
        self.mechanism = self.recorded = mechanism
        self.read = reader(mechanism.domain, opened.cells)
        layout = codec_of(mechanism.report_space).layout(opened, leaves_missing)
        self.leaves_missing = leaves_missing
        self.builder = layout.builder
        self.type = layout.type
        self._answer_type = opened.dtype
        self.facts: dict[str, Any] = {"unknown": unknown, "missing": missing}
        self.secure = True
        self._process: int | None = os.getpid()
        self._blocks = 0
        self._one_at_a_time = threading.Lock()
        self.rows = self.unknown = self.missing = 0
        # How many categories appeared so far, as long as they do so in their order.
        self._appeared = 0 if mechanism.domain.order_tells else None
        self._extremes = bound_reader(mechanism.domain, opened.cells)
        self._at_bounds = np.zeros(2, dtype=np.bool_)
        self._beyond_bounds = np.zeros(2, dtype=np.bool_)
        # Whether some answers are no integers where all integers are points; for the curator only.
        self.has_fractions = False

    @property
    def bounds_of_data(self) -> list[Any]:
        """The declared bounds that are the smallest or the largest answer, so they may be of data.

        For the data curator only.
        """
        bounds = self.mechanism.domain.bounds
        is_extreme = self._at_bounds & ~self._beyond_bounds
        return [bound for bound, is_one in zip(bounds, is_extreme, strict=False) if is_one]

    def compare_bounds(self, cells: Any) -> None:
        """Compare the bounds and the points of a number with the next answers."""
        if self._extremes is not None:
            at_bounds, beyond, has_fractions = self._extremes(cells)
            with self._one_at_a_time:
                self._at_bounds |= at_bounds
                self._beyond_bounds |= beyond
                self.has_fractions |= has_fractions

    @property
    def in_order(self) -> bool:
        """True if the categories are listed as they first appear, so the list may be of data.

        For the data curator only.
        """
        return self._appeared == self.mechanism.domain.k

    def compare_order(self, codes: Array) -> None:
        """Compare the order of the categories with that in which the next answers show them."""
        if self._appeared is not None:
            self._appeared = _appeared(codes, self._appeared, self.mechanism.domain.k)

    def compare_rows(self, cells: Any, start: int = 0) -> None:
        """Compare the order of further answers; nearly always the first ones have decided it."""
        while self._appeared is not None and not self.in_order and start < len(cells):
            self.compare_order(self.read(cells[start : start + BLOCK_ROWS])[0])
            start += BLOCK_ROWS

    @property
    def refused(self) -> tuple[int, int]:
        """The numbers of unknown and of missing answers that the policies refuse."""
        policy = self.facts["unknown"]
        unknown = self.unknown if policy == "raise" else 0
        refuses_missing = missing_policy(policy, self.facts["missing"]) == "raise"
        return unknown, self.missing if refuses_missing else 0

    @property
    def may_be_swapped(self) -> bool:
        """True if no answer fits, and their type does not say whether they are codes or labels."""
        return self.unknown + self.missing == self.rows and kind_of_type(self._answer_type) == "any"

    def refusal(self, name: Hashable = None) -> str:
        """The counts of the answers that the policies refuse, in words that quote none.

        name : the column's.
        """
        unknown, missing = self.refused
        of_column = "" if name is None else f" of column {quote(name)}"
        answers = f"{self.rows} answers{of_column}"
        if "plan" in self.facts:
            answers = f"the answers{of_column} that were asked for in {self.rows} rows"
        if not unknown:
            return f"{missing} of {answers} are missing"
        kind = kind_of_type(self._answer_type)
        categories = f"{self.mechanism.domain.in_words} (answer type: {kind})"
        absent = f", and {missing} more missing" if missing else ""
        return f"{unknown} of {answers} are not among {categories}{absent}"

    def in_blocks(self, work: Callable[[int, slice], object], rows: int, threads: int) -> None:
        """Call ``work`` with the number and the rows of each block, in up to ``threads`` threads.

        No other call gets the numbers of these blocks, even if drawing them fails.
        """
        if self._process not in (None, os.getpid()):
            raise ArgumentTypeError(
                "a release cannot be used in a forked process: both processes would draw the same "
                "noise; create one in each process"
            )
        parts = blocks(rows, BLOCK_ROWS)
        with self._one_at_a_time:
            first = self._blocks
            self._blocks += len(parts)
        if threads == 1 or len(parts) < 2:
            for block, part in enumerate(parts, first):
                work(block, part)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(threads, len(parts))) as pool:
            list(pool.map(work, range(first, first + len(parts)), parts))

    def add(self, rows: int, unknown: int, missing: int) -> None:
        """Count answers, of which some are unknown or missing."""
        with self._one_at_a_time:
            self.rows += rows
            self.unknown += unknown
            self.missing += missing


def _appeared(codes: Array, before: int, k: int) -> int | None:
    """The number of categories that appeared so far; None unless they do so in their order.

    codes : of the next answers.  before : the number until then.
    """
    for code in codes[:_FIRST_ROWS].tolist():
        if before < code < k:
            return None
        before += code == before < k
    answers = codes[_FIRST_ROWS:]
    answers = answers[answers < k].astype(np.int64)
    highest = np.maximum.accumulate(np.concatenate([[before - 1], answers]))
    return int(highest[-1]) + 1 if (np.diff(highest) <= 1).all() else None


def _keyed_column(
    key: bytes,
    question: Hashable,
    mechanism: Mechanism,
    *,
    again: bool,
    record: ColumnRecord | None,
    rng: Any,
) -> KeyedColumn:
    """The keyed words of a column; raises unless it has a name for them, and no other source."""
    if question is None or rng is not None:
        raise ArgumentTypeError(
            "keyed reports take no rng, and need a name of the question, so that no two "
            "columns share noise: give a Series that has a name, or rr.client.Keyed(key, id, "
            "question=)"
        )
    # The words of a second round must depend on the earlier rounds.  A question without a
    # JSON form raises: the same document must give the same words later.
    earlier: Any = "unsaid" if again else None
    if record is not None:
        earlier = record.mechanism
    (question_name,) = categories_to_json([question])
    return KeyedColumn(key, question_name, mechanism.to_dict(), earlier)


def _id_columns(ids: Any) -> list[Any]:
    """The columns that together say who a person is, from one column or a list of columns."""
    first = ids[0] if isinstance(ids, list | tuple) and ids else ""
    are_several = hasattr(first, "__len__") and not isinstance(first, str | bytes)
    return list(ids) if are_several else [ids]


class ColumnRelease(ColumnAnswers):
    """One column to privatize, whole or in parts: all arguments are checked, nothing is drawn yet.

    like : the column, or any cells of its type; only the type matters here.
    mechanism, unknown, missing, rng, threads : as for `privatize`.
    column : the place of the column in the release; columns never share words.
    key, question : for keyed reports, the secret key and the question's name; see `keyed`.
    record, again : the record of the column's earlier rounds, if any, and whether another round
        is wanted.
    Each part gets the next blocks of words of one key, so parts never share noise, in whatever
    thread they run.  A forked process must create its own object; copies are refused.
    ``recorded`` is a chain if the answers are already reports; for more see `ColumnAnswers`.

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
        unknown: str = "raise",
        missing: str = "unknown",
        rng: Any = None,
        column: int = 0,
        threads: int | None = None,
        key: bytes | None = None,
        question: Hashable = None,
        record: ColumnRecord | None = None,
        again: bool = False,
    ) -> None:
        opened = open_column(like)
        keeps = missing == "keep"
        super().__init__(opened, mechanism, unknown=unknown, missing=missing, leaves_missing=keeps)
        keyed_column = None
        if key is not None:
            keyed_column = _keyed_column(
                key, question, mechanism, again=again, record=record, rng=rng
            )
        self._threads = threads_for(opened, threads)
        if record is not None:
            self.recorded = chained(record, mechanism, again=again, missing=missing, rng=rng)
        self._source: Source | KeyedColumn = keyed_column or open_source(rng, column=column)
        self.secure = isinstance(self._source, KeyedColumn) or self._source.secure
        # Anyone who has the key of an earlier round can undo that round.
        keyed = key is not None or (record is not None and record.keyed)
        self.facts |= {"simulated": not self.secure, "keyed": keyed}
        if key is not None:  # forked processes draw the same words, as they should
            self._process = None

    def open(
        self, values: Any, group: Any = None, ids: Any = None, probs: Floats | None = None
    ) -> Answers:
        """Open the next answers; all errors are raised before anything is drawn.

        group : the sample of each answer, for mechanisms with several samples.
        ids : for keyed reports, the person of each answer: a column, or a list of columns.
        probs : for a k-RR whose prob differs by row, that of each answer, checked by `RowRates`.
        """
        column = open_column(values)
        samples = None
        rows = len(column.cells)
        id_columns = _id_columns(ids) if isinstance(self._source, KeyedColumn) else []
        aligned(values, [("group", group), *(("id", id_column) for id_column in id_columns)])
        if group is not None or self.mechanism.groups is not None:
            samples = sample_codes(self.mechanism, group, rows)
        persons = [identity(id_column) for id_column in id_columns]
        for person in persons:
            check_rows(person.rows, rows, "id", each="answers")
        return Answers(column, samples, persons, probs)

    def reports(self, values: Any, group: Any = None, ids: Any = None) -> Any:
        """The reports of the next answers, in the container that came in; see `open`."""
        return self.draw(self.open(values, group, ids))

    def draw(self, answers: Answers) -> Any:
        """The reports of the next answers, in the container that came in."""
        column = answers.column
        n = len(column.cells)
        builder = self.builder(n)

        def write_block(block: int, rows: slice) -> None:
            encoded = self.read(column.cells[rows])
            if rows.start == 0:
                self.compare_order(encoded.codes)
            samples = None if answers.samples is None else answers.samples[rows]
            probs = None if answers.probs is None else answers.probs[rows]
            source = self._words(encoded, answers.ids, rows, samples)
            codes = randomize_block(
                self.mechanism, encoded, source, block, samples=samples, probs=probs
            )
            builder.write(rows, codes, encoded.absent if self.leaves_missing else None)
            self.add(len(codes), encoded.unknown, len(encoded.absent))

        self.in_blocks(write_block, n, self._threads)
        self.compare_rows(column.cells, BLOCK_ROWS)
        self.compare_bounds(column.cells)
        return column.wrap(builder.reports())

    def _words(
        self,
        encoded: Encoded,
        ids: list[Identity],
        rows: slice,
        samples: Indices | None,
    ) -> Source:
        """The words of a block: fresh ones, or for keyed reports those of persons and values."""
        if not isinstance(self._source, KeyedColumn):
            return self._source
        answers = self.mechanism.domain.answers
        # Unknown and missing ones share a value.
        values = np.minimum(encoded.codes.astype(np.uint64), answers)
        if samples is not None:
            values += samples.astype(np.uint64) * np.uint64(answers + 1)
        return self._source.words(ids, rows, values)
