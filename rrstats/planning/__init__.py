"""Plan a survey: which design to take, and what one person, or a few liars, can do to it.

``recommend`` compares designs at one epsilon; ``influence`` and ``worst_case_bias`` tell how far
reports move an estimate (`designs`).
"""

from rrstats.planning.designs import Recommendation, influence, recommend, worst_case_bias

__all__ = ["Recommendation", "influence", "recommend", "worst_case_bias"]
