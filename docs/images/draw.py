"""Draw the picture of the README, for light and for dark pages: ``python docs/images/draw.py``.

The data are those of ``rrstats demo``, at epsilon 1; the noise is simulated from a fixed seed.
"""

from pathlib import Path

import matplotlib as mpl

import rrstats as rr

INK = {"light": "#1f2328", "dark": "#e6edf3"}


def draw(folder: Path) -> None:
    """Write debiasing-light.svg and debiasing-dark.svg into a folder."""
    health = rr.datasets.load_rand_health()["health"]
    answers = ["excellent", "good", "fair", "poor"]
    reports = rr.simulate(health, answers, epsilon=1, seed=0)
    estimate = rr.estimate(reports, answers, epsilon=1, target="sample")
    for page, ink in INK.items():
        style = dict.fromkeys(
            ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"], ink
        )
        with mpl.rc_context({**style, "svg.hashsalt": "rrstats", "savefig.transparent": True}):
            axes = estimate.plot(
                truth=health.value_counts(normalize=True),
                figsize=(6, 3),
                title="Self-rated health, 20,190 randomized responses at epsilon 1",
            )
            picture = folder / f"debiasing-{page}.svg"
            axes.figure.savefig(picture, bbox_inches="tight", metadata={"Date": None})
            mpl.pyplot.close(axes.figure)


if __name__ == "__main__":
    mpl.use("Agg")
    draw(Path(__file__).parent)
