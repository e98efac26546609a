"""The functions of `import cudamm`: bench, verify, trace and occupancy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from cudamm.analysis import trace as tracing
from cudamm.analysis.check import observed_cause
from cudamm.analysis.exact_figures import with_exact_figures
from cudamm.analysis.trace import TraceResult
from cudamm.api.bare_numbers import bare_numbers
from cudamm.api.chosen_baseline import chosen_baseline
from cudamm.api.defaults import (
    LARGEST_SEED,
    MOST_RUNS,
    MOST_SCALE,
    MOST_SECONDS,
    MOST_SMS,
    MOST_WARMUP,
    OCCUPANCY_ARCH,
    TIMED_SIZES,
    TRACE_ARCH,
)
from cudamm.api.occupancy_request import occupancy_request
from cudamm.api.python_values import (
    ElementTypes,
    KernelHeader,
    Methods,
    Parameters,
    Shapes,
    Sizes,
    Texts,
    element_types,
    lower_precision,
    real,
    selection,
    texts,
    whole,
)
from cudamm.api.python_values import sizes as sizes_of
from cudamm.api.result_sequence import Results
from cudamm.api.traceable_cases import traceable_cases
from cudamm.benchmark import measure
from cudamm.benchmark.result import Result, bench_record_among, yardsticks_of
from cudamm.benchmark.sampling_policy import Settings
from cudamm.benchmark.tried_launch import known_variants
from cudamm.benchmark.verify import remarks_on, verify_all
from cudamm.devices.device import DeviceInfo
from cudamm.devices.find_device import host
from cudamm.execution.prepare import Progress
from cudamm.execution.worker_executor import WorkerExecutor
from cudamm.kernels.architecture import find_architecture
from cudamm.kernels.chosen_cases import cases_of_supported_types, scale_of
from cudamm.kernels.input_kinds import NOT_VERIFIED, named_kind
from cudamm.kernels.usual_sizes import own_sizes_not_run, usual_sizes
from cudamm.occupancy.occupancy_questions import Questions
from cudamm.occupancy.occupancy_result import OccupancyResult
from cudamm.output import bench_table, occupancy_output, trace_table, verify_table
from cudamm.output.results_view import BASELINE, results_view
from cudamm.tuning.fitted_cases import fitted_to

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cudamm.execution.case import Case, Verdict


def bench(
    methods: Methods | None = None,
    *,
    n: Sizes | None = None,
    shape: Shapes | None = None,
    dtype: ElementTypes | None = None,
    params: Parameters | None = None,
    device: str = "auto",
    fmad: bool = True,
    seed: int = 0,
    inputs: str = "",
    allow_precision: str = "",
    runs: int | None = None,
    warmup: int | None = None,
    cold: bool = True,
    max_noise: float = 0.005,
    max_time_s: float = 2.0,
    verify: bool = True,
    times: bool = False,
    arch: str = OCCUPANCY_ARCH,
    baseline: str | None = None,
    timeout_s: float = 60.0,
    progress: Progress | None = None,
    **header: Unpack[KernelHeader],
) -> Results[Result]:
    """Time every variant on every problem, each verified before it is timed, as `cudamm bench` does.

    Without a GPU, kernels are verified, and figures that are exact are computed instead of times. Kernels run
    in a worker process. A kernel that crashes or hangs costs its own row, not this process.

    Args:
        methods: names of methods, paths of kernel files, or source text: a string that contains a newline or
            `__global__`. One or several; None: every method of cudamm.
        n: edge of square matrices, one or several. Without `n` and `shape` 1024 on a GPU, else 256.
        shape: (m, n, k) of C (m x n) = A (m x k) B (k x n), one or several.
        dtype: element types, one or several: names as of `--dtype`, or NumPy's types. Default: float32.
        params: values by the name of a parameter: `{"BLOCK_SIZE": [16, 32]}`. Every combination is a variant.
        device: `gpu`, `gpu:1`, `cpu`, or `auto` for a GPU if there is one.
        fmad: let the compiler fuse a multiplication and an addition.
        seed: seed of the random inputs.
        inputs: `normal`, `uniform`, `integers` or `zeros`: the numbers in the random matrices. Empty:
            uniform, but integers for int32 and normal for the types of tensor cores. Nothing is verified on
            zeros.
        allow_precision: `tf32`, `half` or `bfloat16`, to which a kernel may round; empty for none of them.
        runs: number of samples per variant; None: until the median is stable.
        warmup: number of launches before the samples; None: until the device was busy for 100 ms.
        cold: write over the GPU's L2 cache before each sample.
        max_noise: a median is stable if its noise is below this share.
        max_time_s: seconds after which the sampling of a variant ends, stable or not.
        verify: verify each variant before it is timed.
        times: without a GPU, take the times of kernels too, although they do not predict those of a GPU.
        arch: without a GPU, the architecture for which registers and occupancy are computed.
        baseline: the method with which speed-ups compare; None: naive.
        timeout_s: seconds without an answer after which a variant counts as hung.
        progress: is called with the current step, the number of finished steps and the number of all steps.
        header: `threads`, `grid`, `entry`, `args`, `shared_bytes`, `requires`, `layout`, `initial_c` and
            `include`, for kernels whose header does not give them.

    Raises:
        UsageError: the request is wrong, such as an unknown method or an impossible size.
        NoDeviceError: the device or a compiler is missing.
    """
    chosen = selection(methods, params, header)
    variants, kind = known_variants(chosen), named_kind(inputs)
    settings = Settings(
        fmad=fmad,
        runs=None if runs is None else whole("runs", runs, 1, MOST_RUNS),
        warmup=None if warmup is None else whole("warmup", warmup, 0, MOST_WARMUP),
        verify=verify and kind != "zeros",
        cache="cold" if cold else "hot",
        max_noise=real("max_noise", max_noise, 1, positive=True),
        max_time_s=real("max_time_s", max_time_s, MOST_SECONDS),
        times=times,
    )
    architecture = find_architecture(arch)
    sizes, dtypes, seed = sizes_of(n, shape), element_types(dtype), whole("seed", seed, 0, LARGEST_SEED)
    with WorkerExecutor(device, real("timeout_s", timeout_s, MOST_SECONDS, positive=True)) as worker:
        info = worker.target.info
        sizes = sizes or (TIMED_SIZES[info.kind],)
        wanted, left_out = cases_of_supported_types(
            variants,
            chosen.is_named,
            sizes,
            dtypes,
            seed,
            allowed_precision=lower_precision(allow_precision),
            inputs=kind,
        )
        wanted, remarks = fitted_to(worker.target, wanted, chosen.is_named)
        compared_with = chosen_baseline(baseline, [variant.method for variant, _ in wanted])
        measured = list(measure.bench(worker, wanted, settings, progress or _no_progress))
    if kind == "zeros":
        remarks = [*remarks, NOT_VERIFIED]
    exact = with_exact_figures(measured, wanted, architecture, fmad, progress or _no_progress, timeout_s)
    by_position = {result.position: result for result in (*measured, *exact)}
    measured = [by_position[position] for position in sorted(by_position)]
    yardsticks = yardsticks_of(measured)

    def render(console: Console, results: Sequence[Result]) -> None:
        bench_table.render(console, results_view(info.name, results, compared_with or BASELINE))

    def rows(result: Result) -> list[dict[str, Any]]:
        return [bench_record_among(result, yardsticks)]

    return Results(measured, info, _with_note(info, [*left_out, *remarks]), rows, render)


def verify(
    methods: Methods | None = None,
    *,
    n: Sizes | None = None,
    shape: Shapes | None = None,
    dtype: ElementTypes | None = None,
    params: Parameters | None = None,
    device: str = "auto",
    fmad: bool = True,
    seed: int = 0,
    inputs: str = "",
    alpha: float | None = None,
    beta: float | None = None,
    allow_precision: str = "",
    timeout_s: float | None = None,
    progress: Progress | None = None,
    **header: Unpack[KernelHeader],
) -> Results[Result]:
    """Compare every element of every product with a reference and its error bound, as `cudamm verify` does.

    A wrong kernel raises nothing: `status` is `failed`, and `reason` says what is wrong. Kernels run in a
    worker process. A kernel that crashes or hangs costs its own row, not this process.

    Args:
        methods, params, device, fmad, seed, allow_precision, progress, header: as for `bench`.
        inputs: as for `bench`, without `zeros`.
        timeout_s: as for `bench`; None: 60, or 10 on the CPU device up to 256x256x256.
        n, shape: as for `bench`. Without both awkward shapes from 1x1x1 on, as `cudamm verify` chooses them.
        dtype: as for `bench`; if it is not given, every type that a method has.
        alpha, beta: values of the arguments `alpha` and `beta` of a kernel that computes alpha A B + beta C;
            unless beta is 0, C is random before each launch. Without both, 1 and 0; and at one of several
            sizes those of a user's program.

    Raises:
        UsageError: the request is wrong, such as an unknown method or an impossible size.
        NoDeviceError: the device or a compiler is missing.
    """
    chosen = selection(methods, params, header)
    sizes, dtypes, seed = sizes_of(n, shape), element_types(dtype), whole("seed", seed, 0, LARGEST_SEED)
    variants = known_variants(chosen)
    sizes = sizes or usual_sizes(variants)
    scale = scale_of(
        None if alpha is None else real("alpha", alpha, MOST_SCALE, negative=True),
        None if beta is None else real("beta", beta, MOST_SCALE, negative=True),
    )
    wanted, left_out = cases_of_supported_types(
        variants, chosen.is_named, sizes, dtypes, seed, all_types=True, scale=scale,
        allowed_precision=lower_precision(allow_precision), inputs=named_kind(inputs),
    )  # fmt: skip
    own_sizes = own_sizes_not_run(wanted)
    limit_s = None if timeout_s is None else real("timeout_s", timeout_s, MOST_SECONDS, positive=True)
    with WorkerExecutor(device, limit_s) as worker:
        info = worker.target.info
        wanted, remarks = fitted_to(worker.target, wanted, chosen.is_named)
        watched: list[Case] = []

        def look_again(case: Case, verdict: Verdict) -> str | None:
            cause = observed_cause(case, verdict)
            if cause is not None:
                watched.append(case)
            return cause

        results = verify_all(
            worker, wanted, fmad, progress or _no_progress, look_again, advises=True, watches=True
        )
        verified = list({result.position: result for result in results}.values())  # the last of each

    def render(console: Console, results: Sequence[Result]) -> None:
        verify_table.render(console, info, results)

    def rows(result: Result) -> list[dict[str, Any]]:
        return [result.verify_record()]

    remarks = [*left_out, *remarks, *own_sizes, *remarks_on(verified, wanted, watched)]
    return Results(verified, info, _with_note(info, remarks), rows, render)


def trace(
    methods: Methods | None = None,
    *,
    n: Sizes | None = None,
    shape: Shapes | None = None,
    dtype: ElementTypes | None = None,
    params: Parameters | None = None,
    blocks: int | None = tracing.DEFAULT_BLOCKS,
    arch: str | None = TRACE_ARCH,
    fmad: bool = True,
    seed: int = 0,
    timeout_s: float = 60.0,
    progress: Progress | None = None,
    **header: Unpack[KernelHeader],
) -> Results[TraceResult]:
    """Count the memory traffic of a kernel's warps, as `cudamm trace` does: sectors, wavefronts, bytes.

    The processor executes the kernel, so no GPU is needed, and each kernel runs in a process of its own. A
    record is a variant on a problem; `to_dicts` returns a row for each load and store of its source.

    Args:
        methods, params, fmad, seed, timeout_s, progress, header: as for `bench`.
        n, shape: as for `bench`; 1024 without both.
        dtype: as for `bench`.
        blocks: number of blocks to trace, at least one of each class; all of a small product unless another
            number is asked for; None: all blocks.
        arch: the architecture for which nvcc merges shared loads into wider ones; None: count shared loads as
            the source has them.

    Raises:
        UsageError: the request is wrong, such as an unknown method or an impossible size.
        NoDeviceError: there is no C++ compiler.
    """
    settings = tracing.Settings(
        blocks=None if blocks is None else whole("blocks", blocks, 1),
        arch=None if arch is None else find_architecture(arch).name,
        timeout_s=real("timeout_s", timeout_s, MOST_SECONDS, positive=True),
    )
    chosen = selection(methods, params, header)
    wanted, left_out, remarks = traceable_cases(
        known_variants(chosen), chosen.is_named, sizes_of(n, shape), element_types(dtype),
        whole("seed", seed, 0, LARGEST_SEED),
        arch or TRACE_ARCH,
    )  # fmt: skip
    traced = list(tracing.trace(wanted, settings, fmad, progress or _no_progress))
    remarks = [*left_out, *remarks]
    return Results(traced, host().info, remarks, TraceResult.records, trace_table.render)


def occupancy(
    methods: Methods | None = None,
    *,
    arch: Texts | None = None,
    n: Sizes | None = None,
    shape: Shapes | None = None,
    dtype: ElementTypes | None = None,
    params: Parameters | None = None,
    registers: Sizes | None = None,
    shared: int | str | Sequence[int] | None = None,
    barriers: int | None = None,
    suggest: bool = False,
    why: bool = False,
    device: str = "auto",
    sms: int | None = None,
    carveout: int | None = None,
    fmad: bool = True,
    progress: Progress | None = None,
    **header: Unpack[KernelHeader],
) -> Results[OccupancyResult]:
    """Calculate how full each kernel keeps a multiprocessor, and what limits it, as `cudamm occupancy` does.

    Without `methods`, `threads`, `registers` and `shared` are bare numbers, and no compiler is needed:
    `occupancy(threads=256, registers=[32, 37], shared=5000, arch="sm_86")`. Nothing is launched. Without
    `arch` the GPU is opened in this process for a moment, to ask for its architecture.

    Args:
        methods, params, fmad, progress, header: as for `bench`. Kernels are compiled at every block size
            worth trying, unless `params` gives one.
        arch: an architecture such as `sm_86`, several, or `all`. Without it the present GPU's, else sm_80.
        n, shape: as for `bench`; 1024 without both. They give the number of waves.
        dtype: as for `bench`.
        registers: registers per thread, for bare numbers.
        shared: bytes of shared memory per block, for bare numbers; or arithmetic such as `8*threads`.
        barriers: barriers per block, for bare numbers.
        suggest: find the block size of highest occupancy.
        why: find what to change to reach the next step up.
        device: `gpu`, `gpu:1`, or `auto`.
        sms: number of multiprocessors, if it differs from that of the GPU in the table.
        carveout: percentage of a multiprocessor's largest shared memory to prefer; the rest is L1 cache.

    Raises:
        UsageError: the request is wrong, such as an unknown architecture.
        NoDeviceError: nvcc or the GPU that is asked for is missing.
    """
    chosen = selection(methods, params, header)
    numbers = bare_numbers(
        chosen, _joined("registers", registers), _joined("shared", shared),
        None if barriers is None else whole("barriers", barriers, 0, 16), fmad, searched=suggest,
    )  # fmt: skip
    request = occupancy_request(
        chosen, numbers, sizes_of(n, shape), element_types(dtype),
        names=texts("arch", arch), device_spec=device,
        multiprocessors=None if sms is None else whole("sms", sms, 1, MOST_SMS),
        carveout_percent=None if carveout is None else whole("carveout", carveout, 0, 100),
        fmad=fmad, suggest=suggest, questions=Questions(why),
    )  # fmt: skip
    found = list(request.results(progress or _no_progress))

    def render(console: Console, results: Sequence[OccupancyResult]) -> None:
        occupancy_output.render(console, results, ())

    def rows(result: OccupancyResult) -> list[dict[str, Any]]:
        return [result.record()]

    remarks = _with_note(request.device, [*request.left_out, *request.remarks])
    return Results(found, request.device, remarks, rows, render)


def _joined(name: str, values: object) -> str | None:
    """Return values as the text of one option; None if they are not given."""
    return ",".join(texts(name, values)) or None


def _with_note(device: DeviceInfo, remarks: Sequence[str]) -> list[str]:
    """Return the remarks, preceded by the note on the choice of the device, if there is one."""
    return [*([device.note] if device.note else []), *remarks]


def _no_progress(step: str, done: int, total: int) -> None:
    """Report nothing."""
