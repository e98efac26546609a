"""Course documents: the figures that each published, and which of its conclusions hold on this device.

Uses tuning and every room below it, and `errors`.
"""

NAMES = ("cmu", "tsinghua", "sheffield", "sjtu", "pmpp")
"""Names of the courses on the command line. Each course has a module, such as `reproduce_cmu`."""
