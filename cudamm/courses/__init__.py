"""What each course document ran and printed, and which of its conclusions hold here.

Uses tuning and every room below it, and `errors`.
"""

NAMES = ("cmu", "tsinghua", "sheffield", "sjtu", "pmpp")
"""The courses, as the command line calls them. Each has a module, such as `reproduce_cmu`."""
