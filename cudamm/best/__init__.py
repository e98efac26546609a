"""Which method, and which parameters, for this device, these sizes and this element type?

`choice` asks three sources in turn: what `tune` found on this device and the tables that come with cudamm,
both by `measured`, and `model`, which computes what nobody measured. `place` is what the choice is for: a
device, or an architecture without one.
"""

from cudamm.best.choice import Choice, choose, is_asked, resolve
from cudamm.best.place import Place, of_architecture, of_target, on_host

__all__ = ["Choice", "Place", "choose", "is_asked", "of_architecture", "of_target", "on_host", "resolve"]
