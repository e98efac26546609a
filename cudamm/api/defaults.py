"""What is taken if a user names no size and no architecture."""

TIMED_SIZES = {"gpu": "1024", "cpu": "256"}
"""Size of the problem to be timed, by the kind of the device."""

VERIFIED_SIZES = ("1x1x1", "17x31x13", "33x65x129", "100x1x50", "127x128x1", "64x64x64")
"""Sizes to verify: the smallest, primes, around multiples of a warp, one column, one product, a square."""

SIZE = "1024"
"""Size of the problem for what is not timed: its traffic, or the number of its waves."""

OCCUPANCY_ARCH = "sm_80"
"""Architecture of the occupancy if there is neither a GPU nor a name: the A100 of the PMPP notes."""

TRACE_ARCH = "sm_90"
"""Architecture for which nvcc merges shared loads into wider ones."""
