"""Plots of noise itself: on one number, in two dimensions, and its length in many."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dxbeam.analysis.pages.figures import INK, SERIES, as_svg
from dxbeam.analysis.theory import one_dimension
from dxbeam.analysis.theory.noise_shape import NoiseSample, length_density
from dxbeam.analysis.theory.one_dimension import CLOSE_FROM, LIMIT, ORIGINAL_FROM, DrawnOneDimension
from dxbeam.mechanisms.sampling.noise import Floats

_DIRECTIONS = 250  # drawn as dots; more of them would be a solid circle


def one_dimension_figure(drawn: Sequence[DrawnOneDimension]) -> str:
    """Noise on one whole number: the three shares, computed (curves) and drawn (dots): SVG.

    Args:
      drawn: in increasing order of epsilon, from below CLOSE_FROM to above ORIGINAL_FROM.
    """
    figure = Figure(figsize=(5.2, 3.3), layout="constrained")
    axes = figure.add_subplot()
    epsilons = [row.epsilon for row in drawn]
    grid = np.geomspace(epsilons[0], epsilons[-1], 400)
    exact = [one_dimension.shares(epsilon) for epsilon in grid]
    for name, (colour, dash) in SERIES.items():
        curve = [getattr(shares, name) for shares in exact]
        axes.plot(grid, curve, color=colour, linestyle=dash, label=name)
        share, low, high = np.transpose([getattr(row, name) for row in drawn])
        spread = [share - low, high - share]
        axes.errorbar(epsilons, share, spread, fmt="o", markersize=2.5, color=colour)
    borders = (epsilons[0], CLOSE_FROM, ORIGINAL_FROM, epsilons[-1])
    for left, right, name in zip(
        borders, borders[1:], ("distant", "close", "original"), strict=False
    ):
        axes.axvline(left, color=INK, linewidth=0.8, alpha=0.6)
        axes.text(math.sqrt(left * right), 1.06, f"mostly {name}", color=INK, ha="center")
    axes.set(xscale="log", xlim=(epsilons[0], epsilons[-1]))
    axes.set(xlabel="epsilon", ylabel="share of draws", ylim=(-0.02, 1.02))
    axes.xaxis.set_major_formatter("{x:g}")
    return as_svg(figure, axes)


def one_dimension_in_words(drawn: Sequence[DrawnOneDimension]) -> str:
    """What ``one_dimension_figure`` shows, for those who do not see it."""
    first, last = drawn[0], drawn[-1]
    middle = max(drawn, key=lambda row: row.close[0])
    inside = sum(
        low <= exact <= high
        for row in drawn
        for (_, low, high), exact in zip(row[-3:], one_dimension.shares(row.epsilon), strict=True)
    )
    return (
        f"Noise on a single whole number. Up to epsilon = {CLOSE_FROM:.2g} most draws end more "
        f"than {LIMIT} away (distant: {first.distant[0]:.0%} at {first.epsilon:g}); from there to "
        f"{ORIGINAL_FROM:.2g} most end at most {LIMIT} away (close: {middle.close[0]:.0%} at "
        f"{middle.epsilon:.2g}); beyond, most end where they began (original: "
        f"{last.original[0]:.0%} at {last.epsilon:g}). Curves are computed; dots are counted "
        f"among {first.draws:,} draws each, and {inside} of their {len(SERIES) * len(drawn)} "
        "intervals of 95% hold the computed share"
    )


def lengths_figure(sample: NoiseSample) -> str:
    """Lengths of noise (bars) against their density f_G (dashed): SVG."""
    figure = Figure(figsize=(5.2, 3.3), layout="constrained")
    axes = figure.add_subplot()
    colour, _ = SERIES["original"]
    axes.hist(sample.lengths, bins=50, density=True, color=colour, alpha=0.5, label="drawn noise")
    low, high = axes.get_xlim()
    grid = np.linspace(max(0.0, low), high, 400)
    density = length_density(grid, sample.n, sample.epsilon)
    colour, _ = SERIES["distant"]
    axes.plot(grid, density, color=colour, linestyle="dashed", label="promised density")
    axes.set(xlabel="length of the noise", ylabel="density", xlim=grid[[0, -1]])
    return as_svg(figure, axes)


def lengths_in_words(sample: NoiseSample) -> str:
    """What ``lengths_figure`` shows, for those who do not see it."""
    low, high = np.quantile(sample.lengths, (0.05, 0.95))
    return (
        f"How long noise is in {sample.n} dimensions at epsilon = {sample.epsilon:g}: nine in ten "
        f"of {len(sample.lengths):,} lengths are between {low:.3g} and {high:.3g}, with a mean of "
        f"{sample.lengths.mean():.3g}. Bars are drawn noise, the dashed curve is the promised "
        f"density, Gamma({sample.n}, 1/epsilon); of samples of exactly that density "
        f"{sample.p_value:.1%} would lie as far from it (Kolmogorov-Smirnov test)"
    )


def directions_figure(sample: NoiseSample) -> str:
    """Where noise in two dimensions points, as dots on a circle of radius 1: SVG."""
    return _dots(sample.directions[:_DIRECTIONS], 1.15, markersize=4)


def directions_in_words(sample: NoiseSample) -> str:
    """What ``directions_figure`` shows, for those who do not see it."""
    right, up = (sample.vectors > 0).T
    quarters = np.bincount(2 * right + up, minlength=4) / len(right)
    return (
        f"Where noise in two dimensions points, whatever its length: {_DIRECTIONS} dots all around "
        f"a circle of radius 1, no side preferred. The four quarters of the circle hold "
        f"{quarters.min():.1%} to {quarters.max():.1%} of all {len(right):,} directions"
    )


def cloud_figure(sample: NoiseSample) -> str:
    """Noise in two dimensions, as dots around the vector it is added to: SVG."""
    return _dots(sample.vectors, float(np.quantile(sample.lengths, 0.998)), markersize=1.6)


def cloud_in_words(sample: NoiseSample) -> str:
    """What ``cloud_figure`` shows, for those who do not see it."""
    half, most = np.quantile(sample.lengths, (0.5, 0.99))
    return (
        f"Noise in two dimensions at epsilon = {sample.epsilon:g}: a round cloud of "
        f"{len(sample.vectors):,} dots, densest in its middle, where the word's own vector is. "
        f"Half of the dots lie within {half:.2g} of it, 99% within {most:.2g}"
    )


def _dots(points: Floats, reach: float, markersize: float) -> str:
    figure = Figure(figsize=(3.6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    # As an image within the plot: 10,000 dots as shapes would take a megabyte.
    axes.plot(
        *points.T,
        "o",
        markersize=markersize,
        markeredgewidth=0,
        alpha=0.65,
        color=SERIES["original"][0],
        rasterized=True,
    )
    axes.set(aspect="equal", xlim=(-reach, reach), ylim=(-reach, reach))
    axes.set(xlabel="first coordinate", ylabel="second coordinate")
    axes.set_xticks(axes.get_yticks()[1:-1])
    axes.set_yticks(axes.get_xticks())
    return as_svg(figure, axes)


ONE_DIMENSION = one_dimension_figure, one_dimension_in_words
LENGTHS = lengths_figure, lengths_in_words
DIRECTIONS = directions_figure, directions_in_words
CLOUD = cloud_figure, cloud_in_words
