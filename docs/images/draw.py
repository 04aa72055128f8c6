"""Draw the picture of the README, for light and for dark pages: ``python docs/images/draw.py``.

The data are those of ``rrstats demo``, at epsilon 2; the noise is simulated from a fixed seed.
"""

from pathlib import Path

import matplotlib as mpl

import rrstats as rr

INK = {"light": "#1f2328", "dark": "#e6edf3"}


def draw(folder: Path) -> None:
    """Write debiasing-light.svg and debiasing-dark.svg into a folder."""
    party = rr.datasets.load_anes96()["party"]
    reports = rr.simulate(party, party.dtype, epsilon=2, seed=1)
    estimate = rr.estimate(reports, party.dtype, epsilon=2)
    for page, ink in INK.items():
        style = dict.fromkeys(
            ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"], ink
        )
        with mpl.rc_context({**style, "svg.hashsalt": "rrstats", "savefig.transparent": True}):
            axes = estimate.plot(
                truth=party.value_counts(normalize=True),
                figsize=(6, 3),
                title="Party of 944 voters, randomized responses at epsilon 2",
            )
            picture = folder / f"debiasing-{page}.svg"
            axes.figure.savefig(picture, bbox_inches="tight", metadata={"Date": None})
            mpl.pyplot.close(axes.figure)


if __name__ == "__main__":
    mpl.use("Agg")
    draw(Path(__file__).parent)
