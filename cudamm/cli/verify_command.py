"""`cudamm verify`: compare products with a reference, on shapes that reveal what powers of two hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cloup
from cloup import option_group

from cudamm.cli.chosen_devices import opened, run_on_devices, useful_devices
from cudamm.cli.cluster_options import ClusterChoice, cluster_options
from cudamm.cli.output_options import OutputOptions, output_options
from cudamm.cli.shared_options import (
    fmad_option,
    inputs_option,
    precision_option,
    problem_options,
    scale_options,
    seed_option,
    selection_options,
    several_devices_option,
    verify_timeout_option,
)
from cudamm.kernels.usual_sizes import VERIFIED_SIZES, own_sizes_not_run, usual_sizes

if TYPE_CHECKING:
    from cudamm.execution.case import Case, Verdict
    from cudamm.execution.executor import Executors
    from cudamm.kernels.input_kinds import AnyKind
    from cudamm.kernels.lower_precision import LowerPrecision
    from cudamm.kernels.selection import Selection


@cloup.command()
@selection_options(fmad_option)
@problem_options(
    ", ".join(VERIFIED_SIZES),
    "every type of the method",
    seed_option,
    inputs_option,
    *scale_options,
    precision_option,
)
@option_group("Device", several_devices_option, verify_timeout_option)
@cluster_options
@output_options()
def verify_command(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    seed: int,
    inputs: AnyKind,
    alpha: float | None,
    beta: float | None,
    allowed_precision: LowerPrecision,
    device_spec: str,
    timeout_s: float | None,
    cluster: ClusterChoice,
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm verify                              every method, shape and type
    cudamm verify -m tiled --block all         every block size of one method
    cudamm verify --kernel my.cu --device cpu  your kernel, without a GPU

    Compare every element of every product with a float64 reference and with the error that rounding allows.

    With --no-fmad, methods that sum in k order must also equal the same sum on the host, bit for bit. The
    CPU device launches each kernel twice, with its threads in opposite orders: if the two results differ,
    the kernel has a race. It also watches the accesses of your kernel at small sizes, for races and
    accesses out of bounds that leave the product right; cudamm check watches them at every size.
    """
    from cudamm.analysis.check import observed_cause
    from cudamm.benchmark.result import VERIFY_SCHEMA
    from cudamm.benchmark.verify import is_success, remarks_on, verify_all
    from cudamm.cli.asked_cases import asked_cases
    from cudamm.cli.session import LiveSession
    from cudamm.kernels.chosen_cases import scale_of
    from cudamm.output import verify_table as tables
    from cudamm.tuning.fitted_cases import fitted_to

    variants = selection.variants()
    chosen = asked_cases(
        variants,
        selection.is_named,
        sizes or usual_sizes(variants),
        dtypes,
        seed,
        quiet=outputs.quiet,
        all_types=True,
        scale=scale_of(alpha, beta),
        allowed_precision=allowed_precision,
        inputs=inputs,
    )

    watched: list[Case] = []

    def look_again(case: Case, verdict: Verdict) -> str | None:
        cause = observed_cause(case, verdict)
        if cause is not None:
            watched.append(case)
        return cause

    def verify(executors: Executors) -> int:
        info = opened(executors, outputs).info
        cases, remarks = fitted_to(executors.target, chosen, selection.is_named)
        with LiveSession(VERIFY_SCHEMA, outputs, info, lambda result, _: result.verify_record()) as session:
            session.collect(
                lambda report_progress: verify_all(
                    executors, cases, fmad, report_progress, look_again, advises=True, watches=True
                )
            )
            session.add_tables(lambda console, results: tables.render(console, info, results))
            session.add_remarks([*remarks, *own_sizes_not_run(chosen), *executors.losses])
            session.add_remarks(remarks_on(session.results, cases, watched))
            session.finish()
            return session.exit_status(is_success(session.results))

    return run_on_devices(device_spec, cluster, timeout_s, None, useful_devices(len(chosen)), outputs, verify)
