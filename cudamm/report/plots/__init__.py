"""Pictures of results: what every `--plot` shares.

`charts` says what can be drawn, `measured` and `roofline` make charts of results and numbers, `picture` and
`terminal` draw them, and `Plot` is where an option leads.
"""

from cudamm.report.plots.charts import Drawing, caption
from cudamm.report.plots.measured import captioned, drawing_of
from cudamm.report.plots.plot import Plot, check_terminal
from cudamm.report.plots.roofline import RooflinePoint, roofline

__all__ = [
    "Drawing",
    "Plot",
    "RooflinePoint",
    "caption",
    "captioned",
    "check_terminal",
    "drawing_of",
    "roofline",
]
