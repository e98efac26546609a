"""Requests to the occupancy calculator: configurations or kernels, on architectures."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cudamm.api.chosen_architectures import chosen_architectures
from cudamm.api.defaults import SIZE
from cudamm.compile.signature import check_shared_bytes
from cudamm.devices.device import DeviceInfo
from cudamm.errors import UsageError
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import Architecture
from cudamm.kernels.chosen_cases import (
    Cases,
    cases_of_supported_types,
    kernels_of,
    supported_cases,
    unsupported_on,
)
from cudamm.kernels.launch_plan import limits_of
from cudamm.kernels.launchable_cases import launchable_cases
from cudamm.kernels.selection import Selection
from cudamm.kernels.usual_sizes import differing_sizes, own_size_or
from cudamm.kernels.variant import MOST_CASES, Variant, check_count
from cudamm.occupancy.block_size import BLOCK_SIZE, best_block_sizes, best_of_numbers
from cudamm.occupancy.configurations import Numbers, occupancy_of_numbers
from cudamm.occupancy.kernel_occupancy import occupancy_of_kernels
from cudamm.occupancy.occupancy_questions import Questions, add_answers
from cudamm.occupancy.occupancy_result import OccupancyResult, Step
from cudamm.occupancy.possible_blocks import steps_of_block_size
from cudamm.tuning.best_choice import is_asked, resolve
from cudamm.tuning.place import of_architecture


@dataclass(frozen=True)
class OccupancyRequest:
    """A request to the occupancy calculator, which `results` carries out.

    Attributes:
        device: the device under which records and tables list the architectures.
        numbers: configurations without a kernel; None if the request is about kernels.
        groups: cases of kernels, and the architectures to compute them for.
        left_out: a line for each element type that methods lack.
        remarks: a line for each other method that is left out, and for each method chosen for `best`.
        suggest: find the block size of highest occupancy.
        is_block_size_given: whether `suggest` chooses from block sizes that the user gives.
    """

    architectures: list[Architecture]
    device: DeviceInfo
    numbers: Numbers | None
    fmad: bool
    carveout_percent: int | None
    questions: Questions
    suggest: bool
    is_block_size_given: bool
    groups: list[tuple[list[Architecture], Cases]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def results(self, progress: Progress) -> Iterator[OccupancyResult]:
        """Yield the occupancy of each configuration on each architecture, with the answers to the questions.

        Raises:
            UsageError: nothing that is asked for can be launched, a user's kernel compiles in no variant, or
                the cycles of a load are not known.
            NoDeviceError: there is no nvcc, or it cannot compile for an architecture.
        """
        found = self._without_answers(progress)
        return add_answers(
            found, self.architectures, self.questions, self.carveout_percent, self._other_blocks
        )

    def _other_blocks(self, architecture: Architecture, result: OccupancyResult) -> tuple[Step, ...] | None:
        """Return the other blocks of a kernel that raise its occupancy; None for bare numbers."""
        if result.method is None:
            return None
        problem_of_result = result.dtype, result.m, result.n, result.k
        for variant, problem in (case for _, cases in self.groups for case in cases):
            shape = problem.shape
            if (variant.method.name, problem.element.name, shape.m, shape.n, shape.k) == (
                result.method, *problem_of_result,
            ):  # fmt: skip
                values = tuple((name, result.params[name]) for name, _ in variant.values)
                case = Variant(variant.method, values), problem
                return steps_of_block_size(architecture, case, result, self.fmad, self.carveout_percent)
        return ()

    def _without_answers(self, progress: Progress) -> Iterator[OccupancyResult]:
        if self.numbers is not None:
            compute = best_of_numbers if self.suggest else occupancy_of_numbers
            yield from compute(self.architectures, self.numbers, self.carveout_percent)
        for architectures, chosen in self.groups:
            if self.suggest:
                yield from best_block_sizes(
                    architectures,
                    chosen,
                    self.fmad,
                    self.carveout_percent,
                    progress,
                    self.is_block_size_given,
                )
            else:
                yield from occupancy_of_kernels(
                    architectures, chosen, self.fmad, self.carveout_percent, progress
                )


def occupancy_request(
    selection: Selection,
    numbers: Numbers | None,
    sizes: Sequence[str],
    dtypes: Sequence[str],
    *,
    names: Sequence[str],
    device_spec: str,
    multiprocessors: int | None,
    carveout_percent: int | None,
    fmad: bool,
    suggest: bool = False,
    sweep_block_size: bool = True,
    questions: Questions | None = None,
) -> OccupancyRequest:
    """Return a request about bare numbers, or about the kernels of a selection if there are no numbers.

    Args:
        names: names of architectures; empty: the present GPU, or the default.
        sweep_block_size: take every block size worth trying, if no block size is given.

    Raises:
        UsageError: bare numbers beside sizes or types, or a method, size or architecture that does not exist.
        NoDeviceError: a GPU is asked for and there is none; there is no nvcc that can compile the kernels.
    """
    if numbers is not None and (sizes or dtypes):
        raise UsageError(
            "bare numbers have no matrices: leave out -n and --dtype; --grid sets the number of blocks"
        )
    architectures, info = chosen_architectures(
        names, device_spec, multiprocessors, to_compile=numbers is None
    )
    request = OccupancyRequest(
        architectures, info, numbers, fmad, carveout_percent, questions or Questions(), suggest,
        selection.has_values_for(BLOCK_SIZE),
    )  # fmt: skip
    if numbers is not None:
        return request
    from cudamm.compile.nvcc_compiler import remark_on_estimate

    swept = dataclasses.replace(selection, swept=(BLOCK_SIZE,) if sweep_block_size else ())
    why_refused = "have no occupancy: name a method that runs on a GPU"
    variants = kernels_of(swept.variants(), swept.is_named, why_refused, "compute the occupancy of")
    for method in dict.fromkeys(variant.method for variant in variants if not variant.method.builtin):
        if method.shared_bytes.text == "0" and "grid" not in dict(method.found_fields):
            check_shared_bytes(method, method.code, method.entry)
    differing = [] if sizes else differing_sizes(variants, SIZE)
    sizes = sizes or [own_size_or(variants, SIZE)]
    chosen, left_out = cases_of_supported_types(variants, swept.is_named, sizes, dtypes, seed=0)
    names_of_archs = [architecture.name for architecture in architectures]
    chosen, remarks = supported_cases(chosen, swept.is_named, unsupported_on(names_of_archs))
    if not suggest:  # else another block size may fit
        all_limits = [limits_of(architecture) for architecture in architectures]
        chosen, cannot_launch = launchable_cases(chosen, swept.is_named, all_limits)
        remarks += cannot_launch
    remarks += filter(None, map(remark_on_estimate, names_of_archs))
    remarks += differing + [
        f"{method.name} computes its grid from the number of multiprocessors: the blocks in the "
        "grid are counted for each GPU, not for the assumed number"
        for method in dict.fromkeys(variant.method for variant, _ in chosen)
        if method.grid_of_gpu
    ]
    check_count(len(chosen) * len(architectures), "cases", MOST_CASES)
    if not is_asked(variants):
        groups = [(architectures, chosen)]
        return dataclasses.replace(request, groups=groups, left_out=left_out, remarks=remarks)
    groups = []
    gpu_name = info.name if info.kind == "gpu" else ""
    for architecture in architectures:  # `best` can be another variant on each architecture
        resolved, choices = resolve(chosen, of_architecture(architecture, gpu_name))
        groups.append(([architecture], resolved))
        remarks += [f"{architecture.name}: {choice}" for choice in choices]
    return dataclasses.replace(request, groups=groups, left_out=left_out, remarks=remarks)
