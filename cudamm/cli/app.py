"""The group of commands, which turns every error into one line and an exit status."""

from __future__ import annotations

import codecs
import contextlib
import errno
import gc
import importlib
import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO

import click
import cloup
from cloup.constraints import ConstraintViolated

from cudamm import __version__
from cudamm.cli.spellings import respelled, unknown_command, unknown_option
from cudamm.errors import UNINTERRUPTED, CudammError, Interrupted, Signalled, UsageError
from cudamm.output.readable_text import readable
from cudamm.source.input_file import remembered_inputs

COMMANDS = {
    "Run": {
        "bench": "Verify and time methods.",
        "verify": "Compare products with a reference, on awkward shapes.",
        "sweep": "Verify and time every combination of a method's parameters.",
        "tune": "Search for a method's fastest parameters on a GPU.",
    },
    "Understand": {
        "trace": "Count the sectors and bank conflicts of each load and store.",
        "check": "Find the mistake that makes a kernel wrong or slow, and its line.",
        "grade": "Grade a student's kernel by an assignment, without a GPU too.",
        "occupancy": "Calculate occupancy for any architecture, and what limits it.",
        "roofline": "Calculate arithmetic intensity, and the rate that it allows.",
        "profile": "Profile kernels with Nsight Compute, and name what limits them.",
        "show": "Print a kernel's source, PTX, machine code or resources.",
    },
    "Look": {
        "report": "Write a file of results, or a kernel, as one HTML page.",
        "compare": "Compare two files of results, or two kernels: what is better?",
        "list": "List the methods, their parameters and what they teach.",
        "reproduce": "Run a course's experiment beside its published figures.",
    },
    "Machine": {
        "devices": "List the GPUs and the processor here, or a cluster's devices.",
        "health": "Load every GPU, and name those that are slower than their like.",
        "worker": "Join this host's GPUs to a cluster, for sweep --cluster.",
        "doctor": "Check whether cudamm can run here, and what to repair.",
        "completion": "Print the script that makes a shell complete command lines.",
    },
}
"""Commands in the order of the help, each with the line that the help prints.

The command `bench` is the function `bench_command` of `cudamm/cli/bench_command.py`. Only the command that
runs is imported.
"""


class _App(cloup.Group):
    _called = "cudamm"

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        if name not in self.commands:
            return None
        self._called = f"cudamm {name}"
        module = importlib.import_module(f"cudamm.cli.{name}_command")
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. Raise UsageError if there is no such command."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            raise UsageError(unknown_command(args[0], self.commands))
        return super().resolve_command(ctx, args)

    def invoke(self, context: click.Context) -> Any:
        """Run the command. An interrupt ends here: Click would write to a terminal that may be closed."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(interrupt) from None

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> NoReturn:
        """Run a command. Every error ends here, as one line on standard error."""
        extra["standalone_mode"] = False
        self._called = "cudamm"
        arguments = sys.argv[1:] if args is None else args
        if isinstance(sys.stdout, io.TextIOWrapper):
            codecs.register_error("in plain characters", _in_plain_characters)
            sys.stdout.reconfigure(errors="in plain characters")  # for terminals without †
        try:
            if sys.stdout is None:
                raise UsageError("standard output is closed; send it to a file or to /dev/null")
            with remembered_inputs():
                status = super().main(respelled(arguments, self.commands), **extra)
            sys.stdout.flush()
        except CudammError as error:
            is_verbose = not {"-v", "--verbose"}.isdisjoint(arguments)
            _end(str(error), error.exit_status, error.all_details if is_verbose else error.details)
        except click.exceptions.Exit as error:
            sys.exit(error.exit_code)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            sys.exit(UsageError.exit_status)
        except ConstraintViolated as error:
            _end(error.message, UsageError.exit_status)
        except click.NoSuchOption as error:
            _end(unknown_option(error, arguments), UsageError.exit_status)
        except click.ClickException as error:
            _end(f"{_reworded(error)}; see {self._called} --help", UsageError.exit_status)
        except click.Abort as error:
            cause = error.__cause__
            interrupted = Interrupted(cause if isinstance(cause, KeyboardInterrupt) else KeyboardInterrupt())
            _end(str(interrupted), interrupted.exit_status)
        except MemoryError:
            _end("out of memory: choose a smaller size with -n", CudammError.exit_status)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EACCES, errno.ESTALE) and not _current_folder_works():
                _end(
                    f"the current folder was removed, or cannot be entered ({error.strerror}): run cudamm in "
                    "another folder",
                    UsageError.exit_status,
                )
            if error.filename is not None:
                _end(f"{error.filename}: {error.strerror}", CudammError.exit_status)
            # Standard output cannot be written. Python's flush at exit must not fail a second time. A reader
            # such as `head` or `less` that closes the pipe needs no message.
            _discard(sys.stdout, sys.__stdout__)
            if isinstance(error, BrokenPipeError):
                sys.exit(CudammError.exit_status)
            _end(f"standard output cannot be written: {error.strerror}", CudammError.exit_status)
        sys.exit(status if isinstance(status, int) else 0)


def _current_folder_works() -> bool:
    try:
        return os.access(Path.cwd(), os.X_OK)
    except OSError:
        return False


_PLAIN = {"✓": "ok", "★": "*", "×": "x"}
"""Replacements for characters that a terminal lacks."""


def _in_plain_characters(error: UnicodeError) -> tuple[str, int]:
    """Return replacements for characters that the terminal lacks, as an error handler of codecs."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(
        _PLAIN.get(character, "?") for character in error.object[error.start : error.end]
    ), error.end


def _end(message: str, status: int, details: Sequence[str] = ()) -> NoReturn:
    # The terminal may be closed. Python's flush at exit must not fail as well: it would change the status.
    try:
        for line in details:
            click.echo(f"cudamm: {readable(line.expandtabs())}", err=True)
        click.echo(f"cudamm: {readable(' '.join(message.split()))}", err=True)
    except OSError:
        _discard(sys.stderr, sys.__stderr__)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _discard(sys.stdout, sys.__stdout__)
    sys.exit(status)


_REWORDED = (
    (r"^Got unexpected extra arguments? \((\S+).*\)", r"“\1” belongs to no option (choose a method with -m)"),
    (r"is not a valid integer( range)?", "is not a whole number"),
    (r"is not a valid float( range)?", "is not a number"),
    (r"is not in the range x>=(\S+)", r"is less than \1"),
    (r"is not in the range (\S+)<x<=(\S+)", r"is not above \1 and at most \2"),
    (r"is not in the range (\S+)<=x<=(\S+)", r"is not between \1 and \2"),
    (r"\. \(?Did you mean(?: one of:)? (.+?)\?\)?$", r" (did you mean \1?)"),
    (r"'(-[\w-]+)'", r"\1"),
)
"""Patterns of click's messages, and the words in their place."""


def _reworded(error: click.ClickException) -> str:
    """Return click's message in plain words."""
    message = error.format_message().rstrip(".")
    for pattern, words in _REWORDED:
        message = re.sub(pattern, words, message)
    return message[0].lower() + message[1:]


def _discard(stream: TextIO, original: TextIO | None) -> None:
    """Send what is still to be written to a broken standard stream to /dev/null."""
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

    \b
    cudamm list                            the kernels, and what each one teaches
    cudamm bench                           verify and time all of them
    cudamm check --kernel my.cu            find the mistake in your own kernel

    The kernels lead from three nested loops to tensor cores. They run on an NVIDIA GPU. Without a GPU, the
    built-in CPU device executes the same kernels on the processor. COMMAND --help explains a command.

    Exit status: 0 success, 1 a result is wrong or a variant failed, 2 the command line is wrong, 3 there is
    no usable device or compiler.
    """


def main() -> NoReturn:
    """Run the command line `cudamm`."""
    # Most objects live until the command ends: frequent garbage collection costs more than it frees.
    gc.set_threshold(100_000)
    try:
        # nohup ignores SIGHUP.
        _listen_to_signals(number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN)
        _repeat_unheard_signals()
        app.main(prog_name="cudamm")
    except Signalled as signalled:  # before the command begins, or while another error is reported
        interrupted = Interrupted(signalled)
        _end(str(interrupted), interrupted.exit_status)
    finally:  # everything is written, and the exit status stays as it is
        with contextlib.suppress(Signalled):
            _ignore_signals()


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

REPEAT_S = 0.05
"""Time in seconds after which a signal is sent again that the main thread has not heard."""

_LOCKING = ("__enter__", "__exit__")
"""Names of functions that an exception would leave with a lock held."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _must_wait(frame):
        return  # the signal is sent again
    _ignore_signals()  # a second signal, of whatever kind, must not interrupt the writing of results
    raise Signalled(number)


def _must_wait(frame: FrameType | None) -> bool:
    """Return whether a signal would leave something half done that is being executed."""
    if frame is not None and frame.f_code.co_name in _LOCKING:
        return True
    while frame is not None:
        if frame.f_code in UNINTERRUPTED:
            return True
        frame = frame.f_back
    return False


def _listen_to_signals(numbers: Iterable[int]) -> None:
    for number in numbers:
        signal.signal(number, _interrupt)


def _ignore_signals() -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _repeat_unheard_signals() -> None:
    """Start a thread that sends a signal to the main thread again until it ends what the main thread does.

    A signal that arrives in the instant before the main thread begins to wait, for a lock or for an answer,
    does not end the wait. One that arrives in a `__del__` raises an exception that goes nowhere.
    """
    heard = [number for number in _SIGNALS if signal.getsignal(number) is _interrupt]
    numbers, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written)  # Python writes the number of each signal, whatever the main thread does
    main_thread = threading.get_ident()

    def repeat() -> None:
        number = os.read(numbers, 1)[0]
        while True:
            time.sleep(REPEAT_S)
            if signal.getsignal(number) is _interrupt:
                signal.pthread_kill(main_thread, number)

    def listen_again(ignored: sys.UnraisableHookArgs) -> None:
        if isinstance(ignored.exc_value, Signalled):
            _listen_to_signals(heard)
        else:
            sys.__unraisablehook__(ignored)

    sys.unraisablehook = listen_again
    threading.Thread(target=repeat, daemon=True).start()
