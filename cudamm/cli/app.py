"""The group of commands, and the one place where an error becomes a line and an exit status."""

from __future__ import annotations

import codecs
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

import click
import cloup
from cloup.constraints import ConstraintViolated

from cudamm import __version__
from cudamm.errors import CudammError, Interrupted, Signalled, UsageError

COMMANDS = {
    "Run": {
        "bench": "Time methods, each verified first.",
        "verify": "Check methods against a reference, on awkward shapes.",
        "sweep": "Time every combination of a method's parameters.",
        "tune": "Find the fastest parameters of a method, and keep them.",
    },
    "Understand": {
        "trace": "Sectors, bank conflicts and bytes of each load and store, without a GPU.",
        "check": "Which mistake makes a kernel wrong or slow, and on which line.",
        "occupancy": "Occupancy of kernels or bare numbers, on any architecture.",
        "roofline": "Arithmetic intensity, and the rate that it allows.",
        "profile": "What Nsight Compute reports of kernels, and what bounds them.",
        "show": "Print a variant's source, PTX, machine code or resources.",
    },
    "Look": {
        "report": "One HTML page of a file of results: tables, charts, sources.",
        "compare": "Compare two files of bench: what became faster, what slower?",
        "list": "List the methods, their parameters and what they teach.",
        "reproduce": "Run what a course ran, beside the figures it published.",
    },
    "Machine": {
        "devices": "List the devices here, with the properties that matter.",
        "doctor": "Report whether bench can run here, and what to mend.",
        "completion": "Print what makes a shell complete cudamm's command lines.",
    },
}
"""The commands in the order of the help, and the line that the help prints for each.

The command `bench` is the function `bench_command` of `cudamm/cli/bench_command.py`. Only the command that
runs is imported.
"""


class _App(cloup.Group):
    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        if name not in self.commands:
            return None
        module = importlib.import_module(f"cudamm.cli.{name}_command")
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> NoReturn:
        """Run a command; whatever goes wrong ends here, as one line on standard error."""
        extra["standalone_mode"] = False
        if isinstance(sys.stdout, io.TextIOWrapper):
            codecs.register_error("in plain characters", _in_plain_characters)
            sys.stdout.reconfigure(errors="in plain characters")  # a terminal without † still gets the table
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
        except ConstraintViolated as error:
            _end(error.message, UsageError.exit_status)
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


_PLAIN = {"✓": "ok", "★": "*", "×": "x"}


def _in_plain_characters(error: UnicodeError) -> tuple[str, int]:
    """Replace the characters that a terminal does not have, as codecs asks an error handler to do."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(
        _PLAIN.get(character, "?") for character in error.object[error.start : error.end]
    ), error.end


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


@cloup.group(
    cls=_App,
    sections=[
        cloup.Section(title, [click.Command(name, short_help=line) for name, line in commands.items()])
        for title, commands in COMMANDS.items()
    ],
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(__version__, prog_name="cudamm")
def app() -> None:
    """Learn, teach and measure CUDA matrix multiplication.

    Every textbook kernel from three nested loops to double buffering, timed and verified: on an NVIDIA
    GPU, or on a built-in device that executes the same kernels on the processor.

    Exit status: 0 all well, 1 a result was wrong or a variant failed, 2 the command line was wrong,
    3 no usable device or compiler.
    """


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
