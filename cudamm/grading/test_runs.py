"""Run the tests of an assignment on a kernel: verify, check, trace, occupancy, machine code, bench."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from cudamm.analysis.check import CheckResult, SharedLimit, check_all, observed_cause
from cudamm.analysis.mistakes import Mistake
from cudamm.analysis.trace import Settings, TraceResult, trace, unseen_bytes
from cudamm.benchmark import measure
from cudamm.benchmark.result import Result
from cudamm.benchmark.sampling_policy import Settings as Sampling
from cudamm.benchmark.verify import hangs_too, verify_all
from cudamm.compile.elf import sections
from cudamm.compile.nvcc_compiler import compile_for_gpu
from cudamm.compile.program import program
from cudamm.devices.observation import Access
from cudamm.errors import HangError, KernelError, RequirementError, UsageError
from cudamm.execution.executor import LocalExecutor
from cudamm.grading.graded_test import (
    BANK_CONFLICTS,
    GLOBAL_BYTES,
    MISTAKES,
    NOT_COPIED,
    OCCUPANCY,
    RIGHT,
    SECTORS_PER_LOAD,
    SPEED,
    GradedTest,
)
from cudamm.grading.outcome import Outcome, failed, passed
from cudamm.grading.student_advice import described, without_options
from cudamm.kernels.architecture import Architecture, find_architecture
from cudamm.kernels.method import ElementType
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant
from cudamm.occupancy.kernel_occupancy import occupancy_of_kernels

MOST_MISTAKES = 3
"""Maximum number of mistakes of one kind that are described."""

SHARED_LIMIT_ARCH = "sm_80"
"""Architecture whose limit of shared memory applies while mistakes are searched for."""


class TestRuns:
    """The runs of one kernel for the tests of an assignment."""

    __test__ = False  # pytest takes classes named Test for tests

    def __init__(
        self,
        variant: Variant,
        tests: Sequence[GradedTest],
        run_s: float,
        worker: Callable[[str], LocalExecutor],
        gpu: str,
        shortened: Callable[[str], str],
    ) -> None:
        """Take the kernel; nothing runs yet.

        Args:
            run_s: time limit of the kernel on one problem, in seconds.
            worker: returns the executor on a device, by its name.
            gpu: name of the device on which the kernel is timed. Products are verified on the CPU device
                everywhere: it finds mistakes that a GPU's order of threads may hide, such as races, and the
                points do not depend on the machine.
            shortened: removes from a message what means nothing to a student.
        """
        self._variant = variant
        self._tests = tests
        self._run_s = run_s
        self._worker = worker
        self._gpu = gpu
        self._shortened = shortened
        self._hung: list[Shape] = []
        self._verified = functools.cache(self._verify)
        self._checked = functools.cache(self._check)
        self._traced = functools.cache(self._trace)
        self._unseen = functools.cache(self._look_for_unseen)

    def outcome(self, test: GradedTest) -> Outcome:
        """Run a test, and return its outcome.

        Raises:
            NoDeviceError: the machine lacks what the test needs.
        """
        run = {
            RIGHT: self._right,
            OCCUPANCY: self._occupancy,
            NOT_COPIED: self._not_copied,
            SPEED: self._speed,
            **dict.fromkeys(MISTAKES, self._free_of_mistake),
        }.get(test.kind, self._accesses)
        outcome = run(test)
        detail = without_options(self._shortened(outcome.detail))
        return Outcome(outcome.share, detail, outcome.value, outcome.unit)

    # Right products.

    def _verify(self, shape: Shape, element: ElementType, seed: int) -> str:
        """Return why a product is wrong; empty if it is right."""
        if any(hangs_too(hung, shape) for hung in self._hung):
            return "not run: the kernel did not end on a smaller problem"
        case = self._variant, Problem(shape, element, seed)
        look_again = functools.partial(observed_cause, timeout_s=self._run_s)
        try:
            results: list[Result] = list(
                verify_all(self._worker("cpu"), [case], True, _no_progress, look_again)
            )
        except RequirementError as error:
            return f"the kernel cannot run this problem: {error}"
        except (UsageError, KernelError) as error:
            return str(error)
        result = results[-1]  # the one with the cause
        if result.status == "ok":
            return ""
        reason = result.reason or "the product is wrong"
        cause, hangs, _ = reason.partition("no answer within")
        if hangs:
            self._hung.append(shape)
            return f"{cause}it did not end within {self._run_s:g} s"
        return reason

    def _right(self, test: GradedTest) -> Outcome:
        reason = self._verified(test.shapes[0], test.element, test.seed)
        return failed(reason) if reason else passed("every element is within its error bound")

    def _wrong_at_own_size(self, test: GradedTest) -> Outcome | None:
        """Return the outcome of a test whose problem the kernel computes wrongly; None if it is right."""
        shape = test.shapes[0]
        if not self._verified(shape, test.element, test.seed):
            return None
        return failed(
            f"the product is wrong at {shape} {test.element.name}, and only a right kernel gets these points"
        )

    def _look_for_unseen(self, problem: Problem) -> str:
        """Return why not all accesses are seen, in which mistakes are found too; empty if they are."""
        try:
            unseen = unseen_bytes(self._variant, problem, self._run_s)
        except (UsageError, KernelError):
            return ""  # the kernel fails, which costs other points
        if unseen <= 0:
            return ""
        return f"functions hide {unseen:,} bytes of its accesses: pass and return no structures"

    # Mistakes.

    def _check(self, element: ElementType, seed: int, is_public: bool) -> CheckResult | str:
        """Return the result of searching for mistakes at the sizes of several tests, or why there is none.

        Public tests have a search of their own: a mistake that is found at several sizes names one of them.
        """
        key = element, seed, is_public
        tests = [t for t in self._tests if t.kind in MISTAKES and (t.element, t.seed, t.is_public) == key]
        shapes = dict.fromkeys(shape for test in tests for shape in test.shapes)
        cases = [(self._variant, Problem(shape, element, seed)) for shape in shapes]
        limit = find_architecture(SHARED_LIMIT_ARCH)
        try:
            (found,) = check_all(
                self._worker("cpu"), cases, True, SharedLimit(limit.shared_bytes_per_block, str(limit)),
                _no_progress, None, self._run_s, keeps_consequences=True,  # a test is about one kind of them
            )  # fmt: skip
        except (UsageError, KernelError) as error:
            return str(error)
        return found

    def _free_of_mistake(self, test: GradedTest) -> Outcome:
        found = self._checked(test.element, test.seed, test.is_public)
        if isinstance(found, str) or found.status == "failed":
            return failed(
                f"the kernel could not be checked: {found if isinstance(found, str) else found.reason}"
            )
        sizes = [str(shape) for shape in test.shapes]
        skipped = [reason for size, reason in found.skipped if size in sizes]

        def at_sizes(kind: str) -> list[Mistake]:
            return [m for m in found.mistakes if m.kind == kind and not set(sizes).isdisjoint(m.sizes)]

        mistakes = at_sizes(test.kind)
        if mistakes:
            describe = functools.partial(
                described, at_same_sizes=found.mistakes, sizes=sizes, variant=self._variant
            )
            return failed("\n".join(map(describe, mistakes[:MOST_MISTAKES])))
        crashes = at_sizes("crash")
        if crashes or skipped:
            return failed(f"the kernel could not be checked: {crashes[0].message if crashes else skipped[0]}")
        unseen = self._unseen(Problem(test.shapes[0], test.element, test.seed))
        if unseen:
            return failed(f"the kernel could not be checked: {unseen}")
        wrong = {size for mistake in at_sizes("wrong-result") for size in mistake.sizes}
        if wrong >= set(sizes):
            return failed(
                "the product is wrong at every size that was checked, and only a right kernel gets these "
                "points"
            )
        return passed(f"none at {', '.join(sizes)}")

    # Accesses.

    def _trace(self, shape: Shape, element: ElementType, seed: int) -> dict[Variant, TraceResult] | str:
        """Return what `trace` counts of the kernel and of the compared ones, or why it cannot."""
        key = (shape, element, seed)
        tests = [t for t in self._tests if t.kind == GLOBAL_BYTES and (t.shapes[0], t.element, t.seed) == key]
        compared = dict.fromkeys([self._variant, *(variant for test in tests for variant in test.of)])
        problem = Problem(*key)
        # Without an architecture accesses count as the source has them, so that the points need no nvcc.
        settings = Settings(arch=None, timeout_s=self._run_s)
        try:
            results = list(trace([(v, problem) for v in compared], settings, True, _no_progress))
        except (UsageError, KernelError) as error:
            return str(error)
        return dict(zip(compared, results, strict=True))

    def _accesses(self, test: GradedTest) -> Outcome:
        wrong = self._wrong_at_own_size(test)
        if wrong is not None:
            return wrong
        traced = self._traced(test.shapes[0], test.element, test.seed)
        if isinstance(traced, str):
            return failed(f"the accesses could not be counted: {traced}")
        own = traced[self._variant]
        not_counted = own.reason or self._unseen(Problem(test.shapes[0], test.element, test.seed))
        if not_counted:
            return failed(f"the accesses could not be counted: {not_counted}")
        if test.kind == BANK_CONFLICTS:
            return _bank_conflicts(test, own)
        if test.kind == GLOBAL_BYTES:
            return _global_bytes(test, own, [traced[variant] for variant in test.of])
        return _sectors(test, own)

    # What nvcc makes.

    def _occupancy(self, test: GradedTest) -> Outcome:
        wrong = self._wrong_at_own_size(test)
        if wrong is not None:
            return wrong
        problem = Problem(test.shapes[0], test.element, test.seed)
        architecture = _architecture(test)
        try:
            (found,) = occupancy_of_kernels(
                [architecture], [(self._variant, problem)], True, None, _no_progress
            )
        except (UsageError, KernelError) as error:
            return failed(str(error))
        if found.reason:
            return failed(found.reason)
        limits = f", limited by {', '.join(found.limited_by)}" if found.occupancy < 1 else ""
        detail = (
            f"{found.occupancy:.4g} on {architecture.name} (at least {test.at_least:g}): "
            f"{found.threads_per_block} threads per block, "
            f"{found.registers_per_thread} registers per thread, "
            f"{found.shared_bytes_per_block:,} bytes of shared memory per block{limits}"
        )
        return (passed if found.occupancy >= test.at_least else failed)(detail, found.occupancy, "occupancy")

    def _not_copied(self, test: GradedTest) -> Outcome:
        wrong = self._wrong_at_own_size(test)
        if wrong is not None:
            return wrong
        arch = _architecture(test).name
        try:
            own = _machine_code(self._variant, test, arch)
        except (UsageError, KernelError) as error:
            return failed(str(error))
        for variant in test.of:
            try:
                copied = own == _machine_code(variant, test, arch)
            except (UsageError, KernelError):
                continue  # these values do not compile in this element type
            if copied:
                return failed(f"its machine code for {arch} is that of cudamm's {variant}, byte for byte")
        return passed(f"its machine code for {arch} differs from that of each method")

    # Speed.

    def _speed(self, test: GradedTest) -> Outcome:
        problem = Problem(test.shapes[0], test.element, test.seed)
        cases = [(self._variant, problem), *((variant, problem) for variant in test.of)]
        try:
            results = list(measure.bench(self._worker(self._gpu), cases, Sampling(), _no_progress))
        except (UsageError, KernelError, HangError) as error:
            return failed(str(error))
        own, *others = sorted(results, key=lambda result: result.position)
        if own.status != "ok" or own.gflops is None:
            return failed(own.reason or "it was not timed")
        rates = [result.gflops for result in others if result.status == "ok" and result.gflops is not None]
        if not rates:
            raise KernelError(f"{others[0].method} could not be timed: {others[0].reason}")
        share = own.gflops / max(rates)
        worth = (share - test.zero_at) / (test.full_at - test.zero_at)
        detail = (
            f"{own.gflops:,.4g} GFLOP/s, {share:.1%} of the {max(rates):,.4g} GFLOP/s of {others[0].method} "
            f"in the same run, at {test.shapes[0]}; no points at {test.zero_at:.0%}, "
            f"all at {test.full_at:.0%}"
        )
        return Outcome(round(min(1.0, max(0.0, worth)), 4), detail, own.gflops, "GFLOP/s")


def _no_progress(step: str, done: int, total: int) -> None:
    """Report nothing: the tests are reported, not the steps of each."""


# Of several loads, the worst counts: an average would fall with each load that a kernel does not need.


def _sectors(test: GradedTest, own: TraceResult) -> Outcome:
    op = "load" if test.kind == SECTORS_PER_LOAD else "store"
    ops = ("load",) if op == "load" else ("store", "atomic")
    accesses = [a for a in own.accesses if a.space == "global" and a.op in ops and a.requests]
    if not accesses:
        return failed(f"the kernel makes no {op}s of global memory")

    def sectors(access: Access) -> float:
        # A load of float4 is as good as four loads of float.
        return access.sectors / access.requests / max(1, _elements(access, test))

    worst = max(accesses, key=sectors)
    value = sectors(worst)
    detail = (
        f"{value:.4g} sectors per {op}{_of_elements(worst, test)} in {_place(worst, own)} "
        f"(at most {test.at_most:g}), at {test.shapes[0]}"
    )
    return (passed if value <= test.at_most else failed)(detail, value, f"sectors per {op}")


def _bank_conflicts(test: GradedTest, own: TraceResult) -> Outcome:
    accesses = [a for a in own.accesses if a.space == "shared" and a.requests]
    if not accesses:
        return failed("the kernel uses no shared memory, in which conflicts could be avoided")

    def additional(access: Access) -> float:
        return max(0, access.wavefronts - access.ideal_wavefronts) / access.requests

    worst = max(accesses, key=additional)
    value = additional(worst)
    where = f" in {_place(worst, own)}" if value else ""
    detail = (
        f"{value:.4g} additional wavefronts per access of shared memory{where} (at most {test.at_most:g}), "
        f"at {test.shapes[0]}"
    )
    return (passed if value <= test.at_most else failed)(detail, value, "additional wavefronts per access")


def _elements(access: Access, test: GradedTest) -> int:
    """Return the number of elements that a thread accesses at once."""
    of_results = test.element.of_results if access.array == "C" else test.element
    return access.size_bytes // of_results.size_bytes


def _of_elements(access: Access, test: GradedTest) -> str:
    """Return a remark on an access of several elements at once, which counts as several accesses."""
    elements = _elements(access, test)
    return f" of an element, {elements} at once," if elements > 1 else ""


def _place(access: Access, own: TraceResult) -> str:
    """Return the line of an access, and its array."""
    return f"{access.file or own.file}:{access.line}" + (f" ({access.array})" if access.array else "")


def _global_bytes(test: GradedTest, own: TraceResult, compared: Sequence[TraceResult]) -> Outcome:
    known = [result.total("global").bytes_requested for result in compared if result.status == "ok"]
    if not known:
        raise KernelError(f"the accesses of {compared[0].method} could not be counted: {compared[0].reason}")
    most, value = max(known) * test.times, own.total("global").bytes_requested
    detail = (
        f"{value:,} bytes loaded and stored in global memory (at most {most:,.0f}: "
        f"{'' if test.times == 1 else f'{test.times:g} times '}those of {compared[0].method}), "
        f"at {test.shapes[0]}"
    )
    return (passed if value <= most else failed)(detail, float(value), "bytes")


def _architecture(test: GradedTest) -> Architecture:
    assert test.architecture is not None  # noqa: S101 - every test of this kind has one
    return test.architecture


def _machine_code(variant: Variant, test: GradedTest, arch: str) -> bytes:
    """Return the instructions of a kernel, as bytes."""
    cubin = compile_for_gpu(program(variant, test.element, True, test.shapes[0]), arch)
    return next(s.data for s in sections(cubin.image) if s.name == f".text.{cubin.kernel}")
