"""The process that Nsight Compute watches: verifies one case, which warms up, then launches it once more.

Started by ncu, on behalf of `profile` alone: python -m cudamm.launches CASE OUTCOME SECONDS

CASE and OUTCOME are pickled files: a `Prepared`, and what `outcome` returned. Only the last launch lies
between cuProfilerStart and cuProfilerStop, and ncu is told to look nowhere else: cudamm's own kernels, which
judge products and guards, are none that anybody asked about.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cudamm import devices
from cudamm.devices import Device
from cudamm.errors import CudammError, KernelError
from cudamm.here import Here
from cudamm.prepare import Prepared
from cudamm.results import Verdict


@contextlib.contextmanager
def profiled() -> Iterator[None]:
    """What is launched on the GPU meanwhile is profiled."""
    from cudamm.devices.gpu import import_driver

    driver = import_driver()
    driver.start_profiler()
    try:
        yield
    finally:
        driver.stop_profiler()


def launch(device: Device[Any], case: Prepared) -> Verdict:
    """Verify a case, and launch it once more, profiled, if it is right.

    Raises:
        KernelError: it cannot be launched, or it crashed.
    """
    here = Here(device)
    with here:
        verdict = here.verify(case, thread_order=False)
        if verdict.correct:
            with here.open(case) as run:
                run.fill_output()
                with profiled():
                    run.launch()
    return verdict


def outcome(case: Prepared) -> Verdict | CudammError:
    """What came of a case on its device."""
    try:
        with devices.find(case.target.info.spec) as device:
            return launch(device, case)
    except KernelError as error:
        return KernelError(str(error))
    except CudammError as error:
        return error
    except MemoryError:
        return KernelError("out of memory: a smaller size would do")


def _main(case: str, outcome_file: str, seconds: str) -> None:
    # A kernel may hang and whoever waits be killed: then nobody else ends this process.
    signal.alarm(int(seconds))
    # What a kernel prints must not end up in the table that ncu prints.
    os.dup2(2, 1)
    prepared: Prepared = pickle.loads(Path(case).read_bytes())  # noqa: S301 - written by `profile`
    Path(outcome_file).write_bytes(pickle.dumps(outcome(prepared)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
