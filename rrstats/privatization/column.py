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
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_one_of, check_whole_number
from rrstats.data.arrow import arrow_type
from rrstats.data.categories import categories_to_json
from rrstats.data.columns import Column, Encoded, codec_of, kind_of_type, open_column, reader
from rrstats.data.identifiers import identity
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    UnknownAnswersError,
)
from rrstats.mechanisms.base import Chain, Mechanism
from rrstats.mechanisms.samples import Samples, check_aligned, sample_codes
from rrstats.mechanisms.serialization import POLICIES, ColumnRecord
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


def randomize_block(
    mechanism: Mechanism,
    encoded: Encoded,
    source: Source,
    block: int,
    *,
    samples: NDArray[np.intp] | None = None,
) -> NDArray[Any]:
    """Reports of one block of answers, of which those that match no category are made uniform.

    encoded : given away; its codes may become the reports.
    samples : the sample of each row, where the mechanism has several.
    """
    codes, outside, k = encoded.codes, encoded.outside, mechanism.domain.k
    # Words are drawn for every row, so that they tell nothing of how many were unknown.
    codes[outside] = below(source, REPLACEMENT_STREAM, block, len(codes), bound=k, only=outside)
    if samples is not None:
        codes = cast(Samples, mechanism).join(codes, samples)
    return mechanism.randomize(codes, source, block)


def _threads_for(column: Column, threads: object) -> int:
    """Threads that share a large column; by default several for text alone.

    Arrow works on a block of text for milliseconds, and without the interpreter; blocks of codes
    are so short that threads would wait for one another.
    """
    if threads is not None:
        return check_whole_number(threads, "threads", 1)
    if arrow_type(column.dtype) is None or kind_of_type(column.dtype) != "str":
        return 1
    return min(4, os.cpu_count() or 1)


def _chained(
    record: ColumnRecord, mechanism: Mechanism, *, again: bool, missing: str, rng: Any
) -> Chain:
    """Both rounds, where the data say in ``record`` that they are reports already."""
    if not again:
        raise MetadataError(
            f"column {record.name!r} says that it holds reports already; again=True (--again) "
            "randomizes the reports once more (post-processing, no new privacy loss); for a new "
            "release of the true answers start from the original data, and add up the epsilons"
        )
    if record.simulated and (rng is None or isinstance(rng, SecureGenerator)):
        raise MetadataError(
            f"column {record.name!r} holds simulated reports: whoever knows their seed sees "
            "through the first round; start from the original data, or simulate the second too"
        )
    if record.missing == "keep" and missing != "keep":
        raise ArgumentValueError(
            f"column {record.name!r} was made with missing='keep', which published who did not "
            "answer; give missing='keep' again, so that those rows stay out of the counts"
        )
    return Chain(record.resolve(), mechanism)


class Answers(NamedTuple):
    """Answers to privatize: their column, the sample of each, and whose each is."""

    column: Column
    samples: NDArray[np.intp] | None
    ids: list[Identity]


class ColumnRelease(Unpicklable):
    """One column, privatized whole or in parts: all declarations checked, nothing drawn yet.

    like : the column, or any cells of its type: only the type counts here.
    mechanism, unknown, missing, rng, threads : as for `privatize`.
    column : the place of the column in the release; columns never share words.
    key, question : for keyed reports, the secret and what was asked; see `keyed`.
    record, again : what the data say of the column's earlier rounds, if anything, and whether
        another is wanted.
    Each part gets the next blocks of words of one key, so parts never share noise either, from
    whatever thread they come; a forked process must make its own, and a copy is refused.
    ``recorded`` is the mechanism to record, a chain where the answers are reports already, and
    ``facts`` are the other facts of the record.
    ``rows``, ``unknown`` and ``missing`` count the answers so far that were given, that are
    outside the categories, and that are missing where missing is not a category; they are for the
    data curator only.  ``outside`` counts those that the policies treat as unknown,
    ``may_refuse`` is true where answers must be looked at before anything is drawn, ``secure``
    where the noise is not simulated, so that the reports may be released.

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
        record: ColumnRecord | None = None,
        again: bool = False,
    ) -> None:
        opened = open_column(like)
        policies = {"unknown": unknown, "missing": missing}
        for name, policy in policies.items():
            check_one_of(policy, name, POLICIES[name])
        if mechanism.domain.missing_code is not None and missing not in ("unknown", "uniform"):
            raise ArgumentValueError(
                f"missing={missing!r} contradicts the categories, which have a missing value: "
                "there, not answering is an answer like any other; leave missing= out"
            )
        self._keyed = None
        if key is not None:
            if question is None or rng is not None:
                raise ArgumentTypeError(
                    "keyed reports take no rng, and need a name of what was asked, so that no two "
                    "columns share noise: give a Series that has a name, or question="
                )
            # Words of a second round must differ by those before.  What has no JSON form raises:
            # words must follow from the same document tomorrow.
            before = record.mechanism if record is not None else "unsaid" if again else None
            (asked,) = categories_to_json([question])
            self._keyed = KeyedColumn(key, asked, mechanism.to_dict(), before)
        self._threads = _threads_for(opened, threads)
        self.mechanism = self.recorded = mechanism
        self._read = reader(mechanism.domain, opened.cells)
        self._layout = codec_of(mechanism.report_space).layout(opened, missing == "keep")
        self.type, self._answer_type = self._layout.type, opened.dtype
        if record is not None:
            self.recorded = _chained(record, mechanism, again=again, missing=missing, rng=rng)
        self.may_refuse = "raise" in (unknown, missing)
        self._source = None if self._keyed else open_source(rng, column=column)
        self.secure = self._source is None or self._source.secure
        # Who has the key of an earlier round sees through it.
        keyed = key is not None or (record is not None and record.keyed)
        self.facts = {**policies, "simulated": not self.secure, "keyed": keyed}
        self._process, self._blocks = os.getpid(), 0
        self._one_at_a_time = threading.Lock()
        self.rows = self.unknown = self.missing = self.outside = 0

    def look(self, values: Any) -> None:
        """Count what the policies may refuse among some answers; draws nothing."""
        cells = open_column(values).cells
        for start in range(0, len(cells), BLOCK_ROWS):
            codes, outside, absent = self._read(cells[start : start + BLOCK_ROWS])
            self.add(len(codes), len(outside) - len(absent), len(absent))

    def refuse(self) -> None:
        """Raise UnknownAnswersError for answers seen so far that were asked to be refused.

        Then counts from the beginning: what was looked at is still to be privatized.
        """
        unknown, missing = self.unknown, self.missing
        outside, rows, domain = self.outside, self.rows, self.mechanism.domain
        self.rows = self.unknown = self.missing = self.outside = 0
        if self.facts["missing"] == "raise" and missing:
            raise UnknownAnswersError(
                f"{missing} of {rows} answers are missing; declare None among the categories "
                "(--with-missing), choose missing='uniform' or missing='keep', or drop them first"
            )
        if self.facts["unknown"] == "raise" and outside:
            absent, held = outside - unknown, kind_of_type(self._answer_type)
            raise UnknownAnswersError(
                f"{outside} of {rows} answers are not among the {domain.k} categories "
                f"{domain.describe()} ({absent} missing; answer type: {held}); "
                "rr.check (rrstats check) lists them for the data curator"
            )

    def open(self, values: Any, group: Any = None, ids: Any = None) -> Answers:
        """Open the next answers; raises before anything is drawn.

        group : the sample of each answer, where the mechanism has several.  ids : of keyed
        reports, who each answer is of: a column, or a list of columns.
        """
        column = open_column(values)
        samples, found = None, []
        if group is not None or self.mechanism.groups is not None:
            samples = sample_codes(self.mechanism, group, len(column.cells), values)
        if self._keyed is not None:
            found = self._identities(ids, len(column.cells), values)
        elif ids is not None:
            raise ArgumentTypeError("ids belong to keyed reports; give key= too")
        return Answers(column, samples, found)

    def reports(self, values: Any, group: Any = None, ids: Any = None) -> Any:
        """The reports of the next answers, in the container that came in; see `open`."""
        return self.draw(self.open(values, group, ids))

    def draw(self, answers: Answers) -> Any:
        """The reports of the next answers, in the container that came in."""
        column, samples, ids = answers
        keep, k = self.facts["missing"] == "keep", self.mechanism.domain.k
        builder = self._layout.builder(len(column.cells))
        n = len(column.cells)
        blocks = [slice(at, min(at + BLOCK_ROWS, n)) for at in range(0, n, BLOCK_ROWS)]
        first = 0
        if self._keyed is None:
            if os.getpid() != self._process:
                raise ArgumentTypeError(
                    "a ColumnRelease cannot go on in a forked process: both would draw the same "
                    "noise; create one in each process"
                )
            with self._one_at_a_time:  # nobody else gets these, even if drawing them fails
                first, self._blocks = self._blocks, self._blocks + len(blocks)
        parts = list(enumerate(blocks, first))
        fresh: Any = self._source

        def one_block(part: tuple[int, slice]) -> tuple[int, int]:
            block, rows = part
            encoded = self._read(column.cells[rows])
            found = len(encoded.outside), len(encoded.absent)
            mine = None if samples is None else samples[rows]
            source = fresh
            if self._keyed is not None:  # unknown and missing answers are one value more
                asked = np.minimum(encoded.codes.astype(np.uint64), k)
                if mine is not None:
                    asked += mine.astype(np.uint64) * np.uint64(k + 1)
                source = self._keyed.words(ids, rows, asked)
            codes = randomize_block(self.mechanism, encoded, source, block, samples=mine)
            builder.write(rows, codes, encoded.absent if keep else None)
            return found

        if self._threads == 1 or len(parts) < 2:
            found = [one_block(part) for part in parts]
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(min(self._threads, len(parts))) as pool:
                found = list(pool.map(one_block, parts))
        outside, missing = (sum(counts) for counts in zip((0, 0), *found, strict=True))
        self.add(n, outside - missing, missing)
        return column.wrap(builder.reports())

    @staticmethod
    def _identities(ids: Any, rows: int, values: Any) -> list[Identity]:
        """Whose each row is; raises unless all rows have ids."""
        if ids is None:
            raise ArgumentTypeError(
                "keyed reports need to know of whom each answer is: give id= (or leave key= out "
                "for fresh noise)"
            )
        first = ids[0] if isinstance(ids, list | tuple) and ids else ""
        several = hasattr(first, "__len__") and not isinstance(first, str | bytes)
        columns = ids if several else [ids]
        for column in columns:
            check_aligned(values, column, "id")
        found = [identity(column) for column in columns]
        if unlike := [one.rows for one in found if one.rows != rows]:
            raise ArgumentValueError(
                f"id must have one value for each of the {rows} answers, found {unlike[0]}"
            )
        return found

    def add(self, rows: int, unknown: int, missing: int) -> None:
        """Count answers, of which some are unknown or missing."""
        with self._one_at_a_time:
            self.rows += rows
            self.unknown += unknown
            self.missing += missing
            self.outside += unknown + (missing if self.facts["missing"] == "unknown" else 0)
