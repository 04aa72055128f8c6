"""Pictures of estimates, on Matplotlib axes that are given or new; drawn by nothing at import."""

from rrstats.plots.estimates import plot_estimate, save_estimates
from rrstats.plots.groups import plot_groups
from rrstats.plots.shared import require_matplotlib
from rrstats.plots.tables import plot_crosstab

__all__ = ["plot_crosstab", "plot_estimate", "plot_groups", "require_matplotlib", "save_estimates"]
