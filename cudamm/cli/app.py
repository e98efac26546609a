"""The group of commands, and the one place where an error becomes a line and an exit status."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

import click

from cudamm import __version__
from cudamm.cli.bench_command import bench
from cudamm.cli.check_command import check
from cudamm.cli.compare_command import compare
from cudamm.cli.completion_command import completion
from cudamm.cli.devices_command import devices
from cudamm.cli.doctor_command import doctor
from cudamm.cli.list_command import list_methods
from cudamm.cli.occupancy_command import occupancy
from cudamm.cli.profile_command import profile
from cudamm.cli.report_command import report
from cudamm.cli.reproduce_command import reproduce
from cudamm.cli.roofline_command import roofline
from cudamm.cli.show_command import show
from cudamm.cli.sweep_command import sweep
from cudamm.cli.trace_command import trace
from cudamm.cli.tune_command import tune
from cudamm.cli.verify_command import verify
from cudamm.errors import CudammError, Interrupted, Signalled, UsageError


class _App(click.Group):
    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> NoReturn:
        """Run a command; whatever goes wrong ends here, as one line on standard error."""
        extra["standalone_mode"] = False
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a terminal without † still gets the table
        try:
            if sys.stdout is None:
                raise UsageError("standard output is closed; send it to a file or to /dev/null")
            status = super().main(args, **extra)
            sys.stdout.flush()
        except CudammError as error:
            _end(str(error), error.exit_status)
        except click.exceptions.Exit as error:
            sys.exit(error.exit_code)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            sys.exit(UsageError.exit_status)
        except click.ClickException as error:
            _end(
                f"{error.format_message().rstrip('.')}; cudamm --help lists what there is",
                UsageError.exit_status,
            )
        except click.Abort as error:
            by = error.__cause__ if isinstance(error.__cause__, KeyboardInterrupt) else KeyboardInterrupt()
            interrupted = Interrupted(by)
            _end(str(interrupted), interrupted.exit_status)
        except MemoryError:
            _end("out of memory: a smaller size would do", CudammError.exit_status)
        except OSError as error:
            if error.filename is not None:
                _end(f"{error.filename}: {error.strerror}", CudammError.exit_status)
            # Standard output broke off, and the flush at exit would find the same again. A reader that has
            # seen enough (head, less) needs no message.
            _give_up(sys.stdout, sys.__stdout__)
            if isinstance(error, BrokenPipeError):
                sys.exit(CudammError.exit_status)
            _end(f"standard output cannot be written: {error.strerror}", CudammError.exit_status)
        sys.exit(status if isinstance(status, int) else 0)


def _end(message: str, status: int) -> NoReturn:
    # The terminal may be what went away. What could not be written must not be tried again at exit, which
    # would end with a status of its own.
    try:
        click.echo(f"cudamm: {' '.join(message.split())}", err=True)
    except OSError:
        _give_up(sys.stderr, sys.__stderr__)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _give_up(sys.stdout, sys.__stdout__)
    sys.exit(status)


def _give_up(stream: TextIO, original: TextIO | None) -> None:
    if original is not None and stream is original:
        os.dup2(os.open(os.devnull, os.O_WRONLY), original.fileno())


@click.group(cls=_App, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="cudamm")
def app() -> None:
    """Learn, teach and measure CUDA matrix multiplication.

    Every textbook kernel from three nested loops to double buffering, timed and verified: on an NVIDIA
    GPU, or on a built-in device that executes the same kernels on the processor.

    Exit status: 0 all well, 1 a result was wrong or a variant failed, 2 the command line was wrong,
    3 no usable device or compiler.
    """


for command in (
    bench,
    sweep,
    tune,
    verify,
    check,
    compare,
    report,
    occupancy,
    roofline,
    profile,
    trace,
    reproduce,
    devices,
    doctor,
    completion,
    list_methods,
    show,
):
    app.add_command(command)


def main() -> NoReturn:
    """The entry point of `cudamm`."""
    # What a command computes lives until it ends: looking for garbage in it again and again costs more than
    # it frees.
    gc.set_threshold(100_000)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks for
            signal.signal(number, _interrupt)
    app.main(prog_name="cudamm")


def _interrupt(number: int, frame: object) -> NoReturn:
    # Once: what is done about it, writing results, must not be interrupted by the next.
    signal.signal(number, signal.SIG_IGN)
    raise Signalled(number)
