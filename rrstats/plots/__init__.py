"""Pictures of estimates, on Matplotlib axes that are given or new; drawn by nothing at import."""

from rrstats.plots.estimates import plot_estimate, require_matplotlib, save_estimates

__all__ = ["plot_estimate", "require_matplotlib", "save_estimates"]
