"""What the courses ran, run again here: their figures beside those of this device, and what still holds.

One module a course. Nothing here may import NumPy: the command line's help reads the names.
"""

NAMES = ("cmu", "tsinghua", "sheffield", "sjtu", "pmpp")
"""The courses, as the command line calls them; each is a module of this package."""
