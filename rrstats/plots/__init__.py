"""Pictures of estimates, on Matplotlib axes that are given or new; drawn by nothing at import."""

from rrstats.plots.estimates import plot_estimate, save_estimates
from rrstats.plots.groups import plot_groups
from rrstats.plots.shared import require_matplotlib

__all__ = ["plot_estimate", "plot_groups", "require_matplotlib", "save_estimates"]
