"""Sizes and architectures that are used if none is named, and the largest numbers that may be given."""

TIMED_SIZES = {"gpu": "1024", "cpu": "256"}
"""Default size of a problem that is timed, by the kind of the device."""

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
