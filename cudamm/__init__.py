"""cudamm: learn, teach and measure CUDA matrix multiplication.

`cudamm.bench`, `cudamm.verify`, `cudamm.trace` and `cudamm.occupancy` are the commands of these names as
functions: see docs/python.md. They are imported when they are used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from cudamm import errors

__version__ = "0.1.0"
__all__ = ["Results", "bench", "errors", "occupancy", "trace", "verify"]

if TYPE_CHECKING:
    from cudamm.api.result_sequence import Results
    from cudamm.api.verbs import bench, occupancy, trace, verify
else:
    # The first import of a room makes it an attribute of this module. Import the room `occupancy` now, and
    # remove the attribute, so that `cudamm.occupancy` is always the function.
    importlib.import_module("cudamm.occupancy")
    del globals()["occupancy"]

    def __getattr__(name):
        if name == "Results":
            return importlib.import_module("cudamm.api.result_sequence").Results
        if name in __all__:
            return getattr(importlib.import_module("cudamm.api.verbs"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})
