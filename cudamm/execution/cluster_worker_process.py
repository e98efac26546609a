"""The process of one Dask worker. Only `DaskWorker` starts it:
python -m cudamm.execution.cluster_worker_process SETTINGS PARENT

It first starts cudamm's own worker process: the device opens while this process imports Dask.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import nullcontext
from typing import NoReturn

import msgspec

from cudamm.compile.process_group import end_with_parent
from cudamm.errors import CudammError
from cudamm.execution.dask_workers import WorkerSettings, print_line
from cudamm.execution.worker_executor import WorkerExecutor


def _main(settings: WorkerSettings) -> int:
    spec = settings.device_spec
    try:
        with WorkerExecutor(spec, None, settings.expected) if spec else nullcontext() as executor:
            from cudamm.execution.cluster_worker import run  # meanwhile the device opens

            run(settings, executor)
    except CudammError as error:
        print_line(f"cudamm: {settings.name}: {error}")
        return error.exit_status
    return 0


def _start() -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = 0
    if end_with_parent(int(sys.argv[2])):
        status = _main(msgspec.json.decode(sys.argv[1], type=WorkerSettings))
    sys.stderr.flush()
    os._exit(status)  # a thread may still wait for a kernel


if __name__ == "__main__":
    _start()
