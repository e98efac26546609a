"""Read a submission in a process of its own, which ends if that takes too long.

Only `submission.variant_of` starts it: python -m cudamm.grading.trial_reading FILE KERNEL, with the
attributes of an `AskedKernel` as JSON. It prints why the submission is refused, or nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cudamm.grading.submission import AskedKernel, RefusedSubmission


def _main(path: str, asked: str) -> None:
    try:
        AskedKernel(**json.loads(asked)).variant_in(Path(path))
    except RefusedSubmission as error:
        sys.stdout.write(str(error))


if __name__ == "__main__":
    _main(*sys.argv[1:])
