"""The placement of labels beside points, so that no label covers another."""

from __future__ import annotations

import math
from collections.abc import Sequence

_DIRECTIONS = 16
_RINGS = 24
_MOST_LEADERS = 120
"""Maximum number of places, lowest cost first, whose lines to their points are examined."""

Box = tuple[float, float, float, float]
"""Edges of a box: left, bottom, right, top."""


def place(
    anchors: Sequence[tuple[float, ...]],
    sizes: Sequence[tuple[float, float]],
    points: Sequence[tuple[float, ...]],
    frame: Box,
    reach: float,
    lines: Sequence[Sequence[tuple[float, ...]]] = (),
) -> list[tuple[float, float]]:
    """Return the lower left corner of each label, in the unit of the arguments.

    A label goes as near to its point as it can without covering a point or an earlier label, inside the
    frame. If there is no such place, it goes to the place that covers least.

    Args:
        anchors: the points that the labels belong to.
        sizes: width and height of each label.
        points: all points; none is covered.
        reach: minimum distance between a label and its point.
        lines: pairs of ends; labels avoid covering these lines if possible.
    """
    taken: list[Box] = [(x - reach / 2, y - reach / 2, x + reach / 2, y + reach / 2) for x, y, *_ in points]
    taken += [square for ends in lines for square in _squares(ends, reach)]
    found: list[tuple[float, float]] = []
    labels: list[Box] = []
    for (x, y, *_), (width, height) in zip(anchors, sizes, strict=True):
        cost = {box: _cost(box, taken, frame, x, y) for box in _candidates(x, y, width, height, reach)}
        near = sorted(cost, key=lambda box: cost[box])[:_MOST_LEADERS]
        others = [box for box in taken[: len(points)] + labels if not _holds(box, x, y)]
        # Of several equally good places, `min` takes the first of the sorted ones.
        box = min(near, key=lambda box: round(cost[box][0] + _crossed(box, (x, y), others, reach), 3))
        labels.append(box)
        taken += [box, *_leader(box, (x, y), reach)]
        found.append((box[0], box[1]))
    return found


def _candidates(x: float, y: float, width: float, height: float, reach: float) -> list[Box]:
    boxes = []
    for ring in range(_RINGS):
        distance = reach * (1 + 0.75 * ring)
        for direction in range(_DIRECTIONS):
            angle = 2 * math.pi * direction / _DIRECTIONS
            across, up = math.cos(angle), math.sin(angle)
            # The side of the label that faces its point is at that distance.
            left = x + across * distance + (across - 1) / 2 * width
            bottom = y + up * distance + (up - 1) / 2 * height
            boxes.append((left, bottom, left + width, bottom + height))
    return boxes


def _cost(box: Box, taken: Sequence[Box], frame: Box, x: float, y: float) -> tuple[float, float]:
    outside = (box[2] - box[0]) * (box[3] - box[1]) - _overlap(box, frame)
    covered = sum(_overlap(box, other) for other in taken)
    away = (max(box[0] - x, 0.0, x - box[2]), max(box[1] - y, 0.0, y - box[3]))
    # To a thousandth of a unit's square: rounding must not decide against a near place.
    return round(outside + covered, 3), round(math.hypot(*away), 3)


def _crossed(box: Box, point: tuple[float, float], others: Sequence[Box], reach: float) -> float:
    """Return the area of other boxes that the line between a label and its point would cover."""
    return sum(_overlap(square, other) for square in _leader(box, point, reach) for other in others)


def _leader(box: Box, point: tuple[float, float], reach: float) -> list[Box]:
    """Return the line from a point to the edge of its label, as squares."""
    middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
    return [square for square in _squares((point, middle), reach) if not _overlap(square, box)]


def _holds(box: Box, x: float, y: float) -> bool:
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _squares(ends: Sequence[tuple[float, ...]], side: float) -> list[Box]:
    """Return a line as a row of small squares."""
    (x, y, *_), (to_x, to_y, *_) = ends
    count = max(1, math.ceil(math.hypot(to_x - x, to_y - y) / side))
    middles = [(x + (to_x - x) * i / count, y + (to_y - y) * i / count) for i in range(count + 1)]
    half = side / 4
    return [(x - half, y - half, x + half, y + half) for x, y in middles]


def _overlap(a: Box, b: Box) -> float:
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0
