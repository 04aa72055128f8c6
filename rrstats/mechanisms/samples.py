"""Several samples of one survey, each with its own mechanism.

A respondent follows the instructions of their sample.  The sample is public: a version of the
questionnaire, a wave, or one of the two groups that some designs need (unrelated question of
unknown prevalence, cheater detection).  ``group=`` gives the sample of each report.
Epsilon is the largest epsilon of the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rrstats._cached import cached_property
from rrstats._checks import check_instance, check_left_out
from rrstats._names import checked_keywords
from rrstats._typing import Array, Booleans, Indices, JsonObject, Labels
from rrstats.data.bitsets import Subsets
from rrstats.data.categories import Categories
from rrstats.data.codecs import codec_of
from rrstats.data.columns import open_column
from rrstats.data.encoders import reader
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms.base import A_MECHANISM, Mechanism, check_coins, warn_if_uninformative
from rrstats.mechanisms.channel import multinomial
from rrstats.mechanisms.matrix_channel import StackedChannel
from rrstats.randomness.sources import Source, Substream

_MAX_STAGES = 4000
"""The number of separate streams of one column; each round of each sample needs one."""


def shown_codes(classes: Categories, shows: Any) -> tuple[Categories, tuple[int, ...]]:
    """The categories of latent classes, and the category's code for each class.

    shows : a mapping from class to category, or a list with the category of each class (as in
        documents); None if the classes are the categories.
    """
    if shows is None:
        return classes, tuple(range(classes.k))
    check_instance(shows, "shows", (Mapping, list), "a mapping from class to category")
    category_of = dict(enumerate(shows))
    if isinstance(shows, Mapping):
        category_of = {classes.code(name): category for name, category in shows.items()}
    if sorted(category_of) != list(range(classes.k)) or len(shows) != classes.k:
        raise ArgumentValueError(
            f"shows must give each of the classes {classes.describe()} one category, found "
            f"{len(shows)} entries"
        )
    in_order = [category_of[code] for code in range(classes.k)]
    categories = Categories(list(dict.fromkeys(in_order)))
    return categories, tuple(categories.code(category) for category in in_order)


@checked_keywords
@dataclass(frozen=True, init=False, repr=False)
class Samples(Mechanism):
    """Several samples, each with a mechanism over the same true answers and the same reports.

    Parameters
    ----------
    parts : mapping
        From a sample's label, as used in ``group=``, to its mechanism.
    shows : mapping or list, optional
        For designs with latent classes, the category of each class (of each true answer of the
        parts); by default the classes are the categories.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        These depend on the arguments alone, never on data.

    Notes
    -----
    If every sample alone identifies the proportions, the estimate is the mean of all respondents'
    scores; otherwise it uses all samples together (see `matrix_channel`).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = Samples({"dice": rr.KRR(["no", "yes"], 0.75), "cards": rr.KRR(["no", "yes"], 0.9)})
    >>> est = rr.estimate(["no", "yes", "no"], m, group=["dice", "dice", "cards"])
    >>> est.proportions.round(3)
    array([0.708, 0.292])
    """

    groups: Labels
    parts: tuple[Mechanism, ...]
    shown: Categories
    shows: tuple[int, ...] | None

    def __init__(
        self, parts: Mapping[Any, Mechanism], *, shows: Mapping[Any, Hashable] | None = None
    ) -> None:
        check_instance(parts, "parts", Mapping, "a mapping from sample to mechanism")
        mechanisms = tuple(parts.values())
        for part in mechanisms:
            check_instance(part, "each of parts", Mechanism, A_MECHANISM)
            check_coins(part, "each of parts")
        are_single = all(
            part.groups is None and codec_of(part.report_space).is_label for part in mechanisms
        )
        if len(parts) < 2 or not are_single:
            raise ArgumentValueError(
                "parts must be mechanisms for at least two samples, of one sample each and with "
                f"single labels as reports, found {len(parts)}"
            )
        if any(part.domain.answers != part.domain.k for part in mechanisms):
            raise ArgumentValueError(
                "parts must be mechanisms of categories, found a number: privatize numbers by one "
                "mechanism, and estimate samples of different epsilon apart"
            )
        _check_equal([part.domain for part in mechanisms], "true answers")
        _check_equal([part.report_space for part in mechanisms], "reports")
        if sum(len(part.rounds) for part in mechanisms) > _MAX_STAGES:
            raise ArgumentValueError(
                f"parts must be at most {_MAX_STAGES} samples; where only the prob of k-RR "
                "differs by row, give categories and prob= (or epsilon=), a number for each row"
            )
        shown, codes = shown_codes(mechanisms[0].domain, shows)
        vars(self).update(
            groups=Categories(list(parts)).categories,
            parts=mechanisms,
            shown=shown,
            shows=None if shows is None else codes,
            domain=mechanisms[0].domain,
        )
        warn_if_uninformative(self.channel)

    @property
    def categories(self) -> Labels:
        """The categories to estimate, in their order; latent classes are merged into them."""
        return self.shown.categories

    @property
    def report_space(self) -> Categories | Subsets:
        """The reports of every sample."""
        return self.parts[0].report_space

    @cached_property
    def channel(self) -> StackedChannel:
        """The stacked channels of the samples."""
        parts = tuple(multinomial(part.channel) for part in self.parts)
        return StackedChannel(parts, self.shows or tuple(range(self.domain.k)))

    @property
    def rounds(self) -> tuple[Mechanism, ...]:
        """All rounds of all samples; each has its own words."""
        return tuple(mechanism for part in self.parts for mechanism in part.rounds)

    def showing(self, shows: Mapping[Any, Hashable] | None) -> Samples:
        """Return the same samples with other categories for their classes.

        Parameters
        ----------
        shows : mapping from class to category, or None
            None makes each class a category.

        Returns
        -------
        Samples
        """
        return Samples(dict(zip(self.groups, self.parts, strict=True)), shows=shows)

    @property
    def of_samples(self) -> tuple[Mechanism, ...]:
        """The mechanisms of the samples."""
        return self.parts

    def join(self, codes: Array, samples: Array | None) -> Array:
        """Combine codes of true answers with the codes of their samples, for `randomize`.

        Parameters
        ----------
        codes, samples : array of shape (rows,)
            Codes of the true answers, and of the samples.

        Returns
        -------
        array of shape (rows,)
        """
        return np.asarray(np.asarray(samples).astype(np.int64) * self.domain.k + codes)

    def cells(self, codes: Array, groups: Array) -> Array:
        """Combine codes of reports with the codes of their samples, for `count`.

        Parameters
        ----------
        codes, groups : array of shape (n,)
            Codes of the reports, and of the samples.

        Returns
        -------
        array of shape (n,)
        """
        return np.asarray(np.asarray(self.channel.bounds)[groups] + codes)

    def randomize(self, codes: Array, source: Source, block: int = 0) -> Array:
        """Randomize one block of codes from `join`.

        Parameters
        ----------
        codes : array of shape (rows,)
            From `join`.
        source, block
            As for `Mechanism.randomize`.

        Returns
        -------
        array of shape (rows,)

        Notes
        -----
        The sample of each person is public, so the words may depend on it.
        """
        reports = np.empty(len(codes), dtype=self.report_space.dtype)
        samples = codes // self.domain.k
        stage = 0
        for sample, part in enumerate(self.parts):
            rows = np.flatnonzero(samples == sample)
            answers = (codes[rows] - sample * self.domain.k).astype(self.domain.dtype)
            reports[rows] = part.randomize(answers, Substream(source, stage, rows), block)
            stage += len(part.rounds)
        return reports

    @property
    def _arguments(self) -> JsonObject:
        displayed = self.shows and [self.categories[code] for code in self.shows]
        return {"groups": self.groups, "parts": self.parts, "shows": displayed}

    @classmethod
    def from_parts(cls, groups: list[Any], parts: list[Mechanism], *, shows: Any = None) -> Samples:
        """The samples described by a JSON document."""
        if len(groups) != len(parts) or len(set(groups)) != len(parts):
            raise MetadataError("the description of Samples must have one part for each group")
        return cls(dict(zip(groups, parts, strict=True)), shows=shows)

    def _call(self, name: str = "Samples") -> str:
        pairs = zip(self.groups, self.parts, strict=True)
        listed = ",\n         ".join(f"{group!r}: {part._call()}" for group, part in pairs)
        last_argument = f",\n        shows={self._arguments['shows']!r}" if self.shows else ""
        return f"{name}({{{listed}}}{last_argument})"


def _check_equal(spaces: Sequence[Categories | Subsets], name: str) -> None:
    """Raise unless the true answers, or the reports, of all samples are the same."""
    first = spaces[0]
    for space in spaces:
        if space != first:
            raise ArgumentValueError(
                f"all samples must have the same {name}, in the same order: "
                f"{first.describe()}, found {space.describe()}"
            )


def sample_codes(
    mechanism: Mechanism,
    group: Any,
    rows: int,
    *,
    absent: Callable[[], Booleans] | None = None,
) -> Indices | None:
    """(rows,) the sample of each row; None for mechanisms without samples.

    group : labels of the samples, one for each row, in any container.
    absent : says where no report is, and so no sample is needed; by default all rows need one.
    Raises ArgumentTypeError if group is missing, or given for a mechanism without samples;
    ArgumentValueError for a wrong length or unknown labels.
    """
    if mechanism.groups is None:
        why = (
            "group is the sample of a row, but this mechanism has only one (groups to compare are "
            "by=, as in rr.estimate(df, 'smoker', by='sex'))"
        )
        check_left_out(why, group=group)
        return None
    space = Categories(mechanism.groups)
    sample = "the sample" if rows == 1 else f"the sample of each of {rows} rows"
    rule = f"group= must give {sample}, one of {space.describe()}"
    if group is None:
        step = ""
        if absent is not None:
            step = " (for a column of a plan give the frame, which says what was asked)"
        raise ArgumentTypeError(f"{rule}, found None{step}")
    container = open_column(group)
    if container.shape == () or container.rows != rows:
        raise ArgumentValueError(f"{rule}, found {container.rows} labels")
    try:
        codes = reader(space, container.cells)(container.cells).codes
    except ArgumentTypeError:
        raise ArgumentTypeError(f"{rule}, found a column of {container.dtype}") from None
    is_unknown = codes >= space.k
    codes = codes.astype(np.intp)
    if absent is not None and is_unknown.any():
        codes[is_unknown] = 0
        is_unknown &= ~absent()
    if is_unknown.any():
        strange = np.count_nonzero(is_unknown)
        raise ArgumentValueError(f"{rule}, found {strange} missing or unknown labels")
    return codes


def by_row(mechanisms: Iterable[Mechanism]) -> tuple[Mechanism, list[int] | None]:
    """One mechanism for a column of mechanisms, and the sample of each row.

    Rows with equal mechanisms are one sample; if all are equal there are no samples.
    """
    listed = list(mechanisms)
    # Rows share objects, and equal objects may be distinct: each object is compared once.
    objects = {id(mechanism): mechanism for mechanism in listed}
    samples: dict[Mechanism, int] = {}
    sample_of_object = {
        key: samples.setdefault(mechanism, len(samples)) for key, mechanism in objects.items()
    }
    if len(samples) == 1:
        return next(iter(samples)), None
    groups = [sample_of_object[id(mechanism)] for mechanism in listed]
    return Samples({sample: mechanism for mechanism, sample in samples.items()}), groups
