"""The report about a kernel without a GPU: what `check`, `trace` and `occupancy` find, on one page."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from cudamm.cli.arch_options import one_architecture
from cudamm.cli.output_options import AllAtOnce, OutputOptions
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cudamm.analysis.check import CheckResult
    from cudamm.analysis.kernel_figures import KernelFigures
    from cudamm.cli.progress_bar import ReportProgress
    from cudamm.kernels.architecture import Architecture
    from cudamm.kernels.chosen_cases import Cases
    from cudamm.kernels.selection import Selection


@dataclasses.dataclass(frozen=True)
class KernelReport:
    """The mistakes, the accesses and the occupancy of a kernel."""

    checked: CheckResult
    figures: KernelFigures


def report_kernel(
    selection: Selection,
    sizes: Sequence[str],
    dtypes: Sequence[str],
    arch: str,
    fmad: bool,
    timeout_s: float,
    outputs: OutputOptions,
) -> str:
    """Write the page of the only kernel of a selection; return the path and the number of bytes in words.

    Raises:
        UsageError: there are several kernels, sizes or types, or the page cannot be written.
    """
    from cudamm.api.traceable_cases import traceable_cases
    from cudamm.cli.asked_cases import asked_cases
    from cudamm.devices.find_device import host
    from cudamm.kernels.usual_sizes import usual_sizes
    from cudamm.output.document import document
    from cudamm.output.page.kernel_page import kernel_page

    architecture = one_architecture(arch)
    variants = selection.variants()
    functions = list(dict.fromkeys(variant.method.entry for variant in variants))
    if len(functions) > 1:
        raise UsageError(f"the file has several kernels: choose one with --entry ({', '.join(functions)})")
    if len(variants) != 1 or len(sizes) > 1 or len(dtypes) > 1:
        raise UsageError(
            "report writes a page about one kernel at one size: name one value of each parameter, one size "
            "and one --dtype"
        )
    (variant,) = variants
    traced_cases, _, _ = traceable_cases(variants, lambda method: True, sizes, dtypes, 0, architecture.name)
    types = [traced_cases[0][1].element.name]
    sizes_checked = usual_sizes(variants)
    checked_cases = asked_cases(variants, lambda method: True, sizes_checked, types, quiet=outputs.quiet)
    with AllAtOnce(outputs) as output:
        report = _made(checked_cases, traced_cases, architecture, fmad, timeout_s)
        options = {"size": str(traced_cases[0][1].shape), "arch": str(architecture), "fmad": fmad}
        text = kernel_page(variant, report.checked, report.figures, document("", host().info, options))
        output.deliver(lambda file: None, lambda console: None, [], page=lambda: text, prints_tables=False)
    return f"{outputs.page}: {variant.method.path.name}, {max(1, len(text.encode()) // 1000)} kB"


def _made(
    checked: Cases, traced: Cases, architecture: Architecture, fmad: bool, timeout_s: float
) -> KernelReport:
    """Check, trace and compile the kernel, and show progress meanwhile."""
    from cudamm.analysis.check import SCHEMA, SharedLimit, check_all
    from cudamm.analysis.kernel_figures import kernel_figures
    from cudamm.cli.session import Session
    from cudamm.execution.worker_executor import WorkerExecutor

    limit = SharedLimit(architecture.shared_bytes_per_block, str(architecture))
    with WorkerExecutor("cpu", timeout_s) as worker:

        def found(report_progress: ReportProgress) -> Iterator[KernelReport]:
            (mistakes,) = check_all(
                worker, checked, fmad, limit, report_progress, None, timeout_s, arch=architecture.name
            )
            (figures,) = kernel_figures(traced, architecture, fmad, report_progress, timeout_s)
            yield KernelReport(mistakes, figures)

        with Session[KernelReport](SCHEMA, OutputOptions(), worker.target.info) as session:
            session.collect(found)
            session.exit_status(True)  # raises Interrupted after Ctrl-C
            return session.results[0]
