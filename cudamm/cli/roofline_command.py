"""`cudamm roofline`: each method at its arithmetic intensity, under the device's roofs."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from cudamm.cli.chosen_cases import kernels_of
from cudamm.cli.options import (
    Command,
    Selection,
    device_option,
    dtype_option,
    fmad_option,
    seed_option,
    selection_options,
    sizes_option,
    timeout_option,
)
from cudamm.cli.output_options import Outputs, output_options
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from cudamm.benchmark.measure import Settings
    from cudamm.benchmark.roofline import Cases, Roofline, RooflineResult
    from cudamm.devices.device import DeviceInfo, Target
    from cudamm.execution.executor import Executor
    from cudamm.kernels.architecture import Architecture
    from cudamm.kernels.method import Method

DEFAULT_SIZE = "1024"

LARGEST_NUMBER = 1e9
"""Of GFLOP/s, GB/s or MHz; far above any device, and a slip of the keyboard."""

_EXAMPLE = "an A100: --peak 19500 --bandwidth 1555"


def _positive(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value <= LARGEST_NUMBER:  # nor NaN
        raise click.BadParameter(f"{value:g} is not above 0 and at most {LARGEST_NUMBER:,.0f}")
    return value


def _number(flag: str, metavar: str, text: str) -> Callable[[Command], Command]:
    return click.option(flag, type=float, callback=_positive, metavar=metavar, help=text)


@dataclass(frozen=True)
class _Roofs:
    """What the options that name the roofs say, as given."""

    peak: float | None
    bandwidth: float | None
    theoretical: bool
    arch: str | None
    sms: int | None
    clock: float | None
    memory_clock: float | None
    bus_width: int | None

    def check(self, device_spec: str) -> None:
        """Refuse options that contradict or lack one another. Raises UsageError."""
        of_arch = {"--sms": self.sms, "--clock": self.clock, "--memory-clock": self.memory_clock,
                   "--bus-width": self.bus_width}  # fmt: skip
        if self.arch is not None:
            self._check_arch(device_spec)
            return
        for option, value in of_arch.items():
            if value is not None:
                raise UsageError(
                    f"{option} describes a GPU that is not here: say its architecture with --arch"
                )
        if (self.peak is None) != (self.bandwidth is None):
            has, lacks = ("peak", "bandwidth") if self.bandwidth is None else ("bandwidth", "peak")
            raise UsageError(f"--{has} alone is one roof: give --{lacks} too ({_EXAMPLE})")
        if self.theoretical and self.peak is not None:
            raise UsageError("--theoretical computes what --peak and --bandwidth give: leave one of them out")
        if device_spec == "cpu" and self.peak is None:
            raise UsageError(
                "times on the CPU device are no GPU's, so no roof belongs to them: --peak GFLOPS and "
                f"--bandwidth GB/S of a GPU give the bounds ({_EXAMPLE})"
            )

    def _check_arch(self, device_spec: str) -> None:
        if device_spec not in ("auto", "cpu"):
            raise UsageError("--arch and --device both say what it is for: name one of them")
        if self.arch is not None and self.arch.strip().lower() == "all":
            raise UsageError("--arch all: a roofline is of one device, so name one")
        if self.peak is not None:
            raise UsageError("--arch and --clock give the peak: leave out --peak, or --arch")
        memory = {"--memory-clock MHZ": self.memory_clock, "--bus-width BITS": self.bus_width}
        if self.bandwidth is not None:
            extra = [name.split()[0] for name, value in memory.items() if value is not None]
            if extra:
                raise UsageError(f"{' and '.join(extra)} give the bandwidth: leave out --bandwidth, or them")
            memory = {}
        missing = [name for name, value in ({"--clock MHZ": self.clock} | memory).items() if value is None]
        if missing:
            raise UsageError(
                f"--arch {self.arch} says nothing of {' and '.join(missing)}: give it too "
                "(an A100: --arch sm_80 --sms 108 --clock 1410 --memory-clock 1215 --bus-width 5120)"
            )

    @property
    def architecture(self) -> Architecture:
        """Of the device on paper; where only its numbers are given, that of the A100 in the examples."""
        from cudamm.kernels.architecture import find_architecture

        architecture = find_architecture(self.arch or "sm_80")
        if self.sms is None:
            return architecture
        return dataclasses.replace(architecture, gpu="a GPU", multiprocessors=self.sms)

    def lacks(self, method: Method) -> str:
        """Why a method has no bound on paper, in words; empty where it has."""
        if method.package:
            return f"{method.name} runs nowhere here"
        return method.lacks_on(self.architecture.name) if self.arch is not None else ""

    @property
    def on_paper(self) -> tuple[Roofline, DeviceInfo] | None:
        """The roofs that the options alone give, and what to call their device; None where they do not."""
        from cudamm.benchmark.roofline import Roofline, given, theoretical_bandwidth, theoretical_peak
        from cudamm.devices.device import DeviceInfo

        if self.arch is not None:
            architecture = self.architecture
            peak, peak_from = theoretical_peak(architecture, self.clock or 0.0)
            bandwidth, bandwidth_from = self.bandwidth or 0.0, "given"
            if self.memory_clock is not None and self.bus_width is not None:
                bandwidth, bandwidth_from = theoretical_bandwidth(self.memory_clock, self.bus_width)
            roofs = Roofline(peak, bandwidth, peak_from, bandwidth_from, "float32")
            return roofs, DeviceInfo("architecture", architecture.name, str(architecture))
        if self.peak is None or self.bandwidth is None:
            return None
        name = f"a device of {self.peak:,.10g} GFLOP/s and {self.bandwidth:,.10g} GB/s"
        return given(self.peak, self.bandwidth), DeviceInfo("numbers", "", name)


@click.command(short_help="Arithmetic intensity, and the rate that it allows.")
@selection_options
@click.option("--traffic", metavar="LIST", help="Bytes that all threads load, and store: two expressions.")
@sizes_option(DEFAULT_SIZE)
@dtype_option("float32")
@fmad_option
@_number("--peak", "GFLOPS", "Of a device by its numbers: its arithmetic; goes with --bandwidth.")
@_number("--bandwidth", "GB/S", "And its memory.")
@click.option("--theoretical", is_flag=True, help="Roofs from the GPU's clocks, not from measured kernels.")
@click.option("--arch", metavar="NAME", help="Theoretical roofs of a GPU that is not here, such as sm_86.")
@click.option("--sms", type=click.IntRange(1, 100_000), metavar="N", help="--arch: its multiprocessors.")
@_number("--clock", "MHZ", "--arch: of the multiprocessors.")
@_number("--memory-clock", "MHZ", "--arch: of the memory, which transfers twice a cycle.")
@click.option("--bus-width", type=click.IntRange(8, 100_000), metavar="BITS", help="--arch: of the memory.")
@click.option("--runs", type=click.IntRange(1, 100_000), help="Samples a variant; by default until stable.")
@click.option(
    "--cold/--hot", default=True, help="Write over the GPU's L2 cache before each sample (it is), or do not."
)
@timeout_option
@seed_option
@device_option
@click.option("--plot", metavar="FILE", help="Draw it in a .png, .svg or .pdf file; - for the terminal.")
@output_options
def roofline(
    selection: Selection,
    traffic: str | None,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    runs: int | None,
    cold: bool,
    timeout_s: float,
    seed: int,
    device_spec: str,
    plot: str | None,
    outputs: Outputs,
    **given: Any,
) -> int:
    """Say what rate the peak and the memory of a device allow each method.

    On a GPU each method is measured, and its rate held against the bound; the roofs are measured too. For a
    device by its numbers (--peak and --bandwidth, or --arch and clocks) the bounds are printed, and nothing
    is measured unless --device gpu asks for it.

    \b
    cudamm roofline                                          every method on this GPU
    cudamm roofline -m tiled --block all --theoretical       roofs from clocks and widths
    cudamm roofline --peak 19500 --bandwidth 1555            an A100 by its numbers
    cudamm roofline --arch sm_80 --sms 108 --clock 1410 --bandwidth 1555
    cudamm roofline --kernel my.cu --traffic "8*M*N*K,4*M*N" --peak 19500 --bandwidth 1555
    """
    roofs = _Roofs(**given)
    roofs.check(device_spec)
    if traffic is not None:
        fields = selection.kernel_fields | {"traffic": traffic}
        selection = dataclasses.replace(selection, kernel_fields=fields)
    roofless = "are under no roof of a GPU: name a method that runs on one"
    variants = kernels_of(selection.variants(), selection.names, roofless)

    from cudamm.cli.chosen_cases import able, cases
    from cudamm.tuning.best_choice import resolve
    from cudamm.tuning.place import of_architecture, of_target

    chosen = cases(variants, sizes or (DEFAULT_SIZE,), dtypes, seed)
    paper = roofs.on_paper
    if paper is not None and device_spec in ("auto", "cpu"):
        chosen, remarks = able(chosen, selection.names, roofs.lacks)
        chosen, told = resolve(chosen, of_architecture(roofs.architecture))
        remarks += told
        return _bounds(chosen, *paper, fmad, device_spec, outputs, plot, remarks)
    from cudamm.benchmark.measure import Settings
    from cudamm.execution.worker import WorkerExecutor

    settings = Settings(fmad=fmad, runs=runs, cache="cold" if cold else "hot")
    with WorkerExecutor(device_spec, timeout_s) as worker:
        own = paper[0] if paper is not None else _of_device(worker, roofs.theoretical)
        chosen, remarks = able(chosen, selection.names, worker.target.lacks)
        chosen, told = resolve(chosen, of_target(worker.target))
        remarks += told
        return _measured(worker, chosen, own, settings, outputs, plot, remarks)


def _bounds(
    cases: Cases,
    roofline: Roofline,
    info: DeviceInfo,
    fmad: bool,
    device_spec: str,
    outputs: Outputs,
    plot: str | None,
    remarks: Sequence[str],
) -> int:
    """Print bounds alone; the exit status."""
    from cudamm.benchmark.roofline import bounds

    if device_spec == "cpu":
        note = "nothing is measured: times on the CPU device are no GPU's"
        info = dataclasses.replace(info, note=note)
    info = dataclasses.replace(info, properties=info.properties | roofline.record())
    with _Shown(roofline, info, outputs, plot) as shown:
        shown.session.collect(lambda tell: bounds(cases, roofline, fmad))
        shown.show(remarks)
        return shown.session.status(True)


def _measured(
    executor: Executor,
    cases: Cases,
    roofline: Roofline,
    settings: Settings,
    outputs: Outputs,
    plot: str | None,
    remarks: Sequence[str],
) -> int:
    """Measure, and print rates under their bounds; the exit status."""
    from cudamm.benchmark.roofline import measure

    info = executor.target.info
    info = dataclasses.replace(info, properties=info.properties | roofline.record())
    with _Shown(roofline, info, outputs, plot) as shown:
        results = shown.session.results
        shown.session.collect(lambda tell: measure(executor, cases, settings, roofline, tell))
        executor.dismiss()
        results.sort(key=lambda result: result.position)
        shown.show(remarks)
        return shown.session.status(all(result.status != "failed" for result in results))


class _Shown(contextlib.ExitStack):
    """A session, its tables and its picture."""

    def __init__(self, roofline: Roofline, info: DeviceInfo, outputs: Outputs, plot: str | None) -> None:
        """Raises UsageError where a file cannot be written, NoDeviceError without what draws."""
        from cudamm.benchmark.roofline import SCHEMA, RooflineResult
        from cudamm.cli.session import Session
        from cudamm.output.plots.plot import Plot

        super().__init__()
        self._roofline, self._info = roofline, info
        self._plot = self.enter_context(Plot(plot, outputs.named)) if plot is not None else None
        self.session = self.enter_context(Session[RooflineResult](SCHEMA, outputs, info))

    def show(self, remarks: Sequence[str]) -> None:
        """Print, draw and write what the session has, with remarks below."""
        from cudamm.benchmark.roofline import RooflineResult
        from cudamm.output import roofline_table as tables

        drawing = tables.drawing_of(self._info, self._roofline, self.session.results)

        def render(console: Console, results: list[RooflineResult]) -> None:
            tables.render(console, self._info, self._roofline, results)
            if self._plot:
                self._plot.show(console, drawing)

        self.session.show(render)
        self.session.say(remarks)
        self.session.save(RooflineResult.record)
        if self._plot and self.session.results:
            self._plot.write(drawing)


def _of_device(executor: Executor, by_clocks: bool) -> Roofline:
    """The roofs of the GPU that is here. Raises NoDeviceError where there is none."""
    from cudamm.benchmark.roofline import measured, theoretical

    target: Target[Any] = executor.target
    if target.info.kind == "cpu":
        missing = target.info.note or "there is no GPU here"
        raise NoDeviceError(
            f"{missing}, and times on the CPU device are no GPU's: --peak GFLOPS and --bandwidth GB/S of a "
            f"GPU give the bounds ({_EXAMPLE})"
        )
    if by_clocks:
        from cudamm.devices.gpu_device import GpuTarget

        assert isinstance(target, GpuTarget)  # noqa: S101 - what is no CPU device is a GPU
        return theoretical(target.architecture, target.info.properties)
    ceilings = executor.facts().ceilings
    if ceilings is None:
        raise NoDeviceError("the roofs of this device cannot be measured: give --peak and --bandwidth")
    return measured(ceilings)
