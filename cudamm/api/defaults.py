"""Sizes and architectures that are used if none is named, and the largest numbers that may be given."""

TIMED_SIZES = {"gpu": "1024", "cpu": "256"}
"""Default size of a problem that is timed, by the kind of the device."""

VERIFIED_SIZES = ("1x1x1", "17x31x13", "33x65x129", "100x1x50", "127x128x1", "64x64x64")
"""Sizes to verify: the smallest; primes; near multiples of a warp; one column; K = 1; a square."""

SQUARE_SIZES = ("1", "17", "33", "64", "100")
"""Sizes to verify if every kernel multiplies square matrices only."""

LARGER_SIZES = ("130x259x17", "300x520x33", "130", "260")
"""Sizes of which one is added for a kernel that has one block at all the others."""

SIZE = "1024"
"""Default size of a problem that is not timed, but traced, or whose waves are counted."""

OCCUPANCY_ARCH = "sm_80"
"""Architecture for occupancy if there is no GPU and none is named: that of the A100 in the PMPP notes."""

TRACE_ARCH = "sm_90"
"""Default architecture for which nvcc decides which shared-memory loads to merge into wider ones."""

MOST_RUNS = 100_000
"""Maximum number of samples per variant."""

MOST_WARMUP = 1_000_000
"""Maximum number of launches before the first sample."""

MOST_SECONDS = 86_400
"""Maximum of a time limit, in seconds: a day."""

MOST_SMS = 100_000
"""Maximum number of multiprocessors of a GPU, far above that of any."""

LARGEST_SEED = 2**63 - 1

MOST_SCALE = 1e6
"""Largest absolute value of α and β."""

FINALISTS = 8
"""Number of variants of each problem that a sweep on several GPUs measures again on one of them."""
