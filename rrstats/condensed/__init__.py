"""Frames of any engine, condensed: which combinations of values occur, and how often each.

Counting needs no more of rows than that.  The engine groups its own rows, wherever they lie, and
only the combinations come back, as a small pandas frame; what counts rows counts these with their
multiplicity (`rows.Multiples`), so that there is one counting for all engines.  Of weights come
back the sums, over the rows of a combination, of w, w^2, 1/w and 1/w^2.
Not for frames that have nearly as many combinations as rows (free text, numbers not cut into
ranges): more than a million are refused, before they are fetched.

`frames` says what an engine's frame is, `unopened` what is none yet, `asking` which columns and
mechanisms are meant, and `combining` asks the engine.
Engines are reached through narwhals (https://narwhals-dev.github.io/narwhals), an optional package.
"""

from rrstats.condensed.asking import Asked, Wanted, ask
from rrstats.condensed.combining import MOST, Combined, combine
from rrstats.condensed.frames import EngineFrame, is_frame, open_frame
from rrstats.condensed.selecting import Beside, Selection, condensed_rows, reports_in, selections
from rrstats.condensed.unopened import refuse_unopened

__all__ = [
    "MOST",
    "Asked",
    "Beside",
    "Combined",
    "EngineFrame",
    "Selection",
    "Wanted",
    "ask",
    "combine",
    "condensed_rows",
    "is_frame",
    "open_frame",
    "refuse_unopened",
    "reports_in",
    "selections",
]
