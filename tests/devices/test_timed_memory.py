"""Timed launches on a GPU: new inputs, places, outputs and judgement, on a stand-in for the driver."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cudamm.devices import gpu_device, gpu_support, gpu_timed_memory
from cudamm.devices.device import POISON, Slot
from cudamm.devices.gpu_device import GpuDevice
from cudamm.errors import KernelError, NoDeviceError
from cudamm.execution.precision_judge import PrecisionJudge
from cudamm.execution.timed_launches import TimedLaunches
from cudamm.kernels.input_kinds import AnyKind
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import Launch
from cudamm.kernels.method import ELEMENT_TYPES, ElementType
from cudamm.kernels.problem import UNSCALED, Problem, Scale, Shape, parse_shape
from cudamm.kernels.sampled_product import SampledProduct
from cudamm.kernels.variant import variants
from tests.fake_cuda_driver import FakeDriver

(VARIANT,) = variants(find("naive"), {"BLOCK_SIZE": (4,)})
Multiply = Callable[..., None]


class FakeKernel:
    """A loaded kernel of a user: a function of NumPy that gets A, B, C and their addresses."""

    def __init__(self, driver: FakeDriver, multiply: Multiply, element: ElementType) -> None:
        self.driver, self.multiply = driver, multiply
        self.dtypes = {"A": element.dtype, "B": element.dtype, "C": element.of_results.dtype}
        self.launches: list[dict[str, int]] = []

    def arguments(self, launch: Launch, addresses: dict[str, int]) -> list[Any]:
        return [dict(addresses)]

    def enqueue(self, launch: Launch, arguments: list[Any]) -> None:
        (addresses,) = arguments
        self.launches.append(addresses)
        matrices = (
            layout.matrix_in(
                self.driver.array(addresses[name], self.dtypes[name], layout.rows * layout.columns)
            )
            for name, layout in launch.layouts.items()
        )
        self.multiply(*matrices, addresses)
        self.driver.now_ms += 1.0


def product(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
    wide = a.astype(np.float32) if a.itemsize <= 2 else a
    c[:] = wide @ b.astype(wide.dtype)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    driver = FakeDriver()
    monkeypatch.setattr("cudamm.devices.gpu_device.import_driver", lambda: driver)
    monkeypatch.setattr("cudamm.devices.gpu_device.open_monitor", lambda bus: None)
    monkeypatch.setattr(
        "cudamm.devices.own_module.OwnModule.load", lambda module, arch: driver.module(module)
    )
    return driver


@pytest.fixture
def timed(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Return a function that opens timed launches of a kernel that is a function of NumPy."""
    opened = []

    def open_launches(
        multiply: Multiply = product,
        shape: str = "20x24x28",
        element: str = "float32",
        scale: Scale = UNSCALED,
        allowed_precision: Any = "",
        input_kind: AnyKind = "",
        **launch: Any,
    ) -> Any:
        device = GpuDevice(0)
        opened.append(device)
        kernel = FakeKernel(driver, multiply, ELEMENT_TYPES[element])
        monkeypatch.setattr(device, "_kernel", lambda *_: kernel)
        problem = Problem(
            parse_shape(shape), ELEMENT_TYPES[element], 3, scale, allowed_precision, input_kind=input_kind
        )
        plan = Launch(problem.shape, (1, 1, 1), (1, 1, 1), 0, (), ("A", "B", "C"), **launch)
        run = device.open(SimpleNamespace(element=problem.element), SimpleNamespace(), plan, *problem.inputs)
        launches = TimedLaunches(run, problem, VARIANT, PrecisionJudge(problem))
        return SimpleNamespace(launches=launches, kernel=kernel, run=run)

    yield open_launches
    for device in opened:
        device.close()
    assert driver.allocations == []


@pytest.mark.sampled(5)
@pytest.mark.parametrize("element", ELEMENT_TYPES)
@pytest.mark.parametrize("column_major", [(), ("A",), ("B", "C")])
@pytest.mark.parametrize(("launches", "cold"), [(1, True), (1, False), (2, False), (7, False)])
def test_a_right_kernel_passes(
    timed: Any, element: str, column_major: Any, launches: int, cold: bool
) -> None:
    run = timed(element=element, column_major=column_major)
    taken = run.launches.sample(4, launches, cold)
    assert taken.samples_ms == [1.0] * 4
    assert taken.judged_whole and min(launches, 3) <= taken.judged <= 2 * min(launches, 3)


def test_each_launch_has_its_own_inputs_and_matrices_change_their_place(timed: Any) -> None:
    seen: list[bytes] = []

    def record(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        seen.append(a.tobytes() + b.tobytes())
        product(a, b, c, addresses)

    run = timed(record)
    run.launches.sample(5, 1, True)
    run.launches.sample(2, 10, False)
    assert len(seen) == len(set(seen)) == 5 + 2 * 10
    assert len({launch["C"] for launch in run.kernel.launches[:5]}) > 1
    assert all(address % 256 == 0 for launch in run.kernel.launches for address in launch.values())


def test_the_inputs_are_those_of_the_problem_with_its_draw_and_window(timed: Any) -> None:
    inputs: list[tuple[np.ndarray, np.ndarray]] = []

    def record(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        inputs.append((a.copy(), b.copy()))
        product(a, b, c, addresses)

    run = timed(record)
    run.launches.sample(1, 1, True)
    draw = run.launches._draw
    problem = Problem(Shape(20, 24, 28), ELEMENT_TYPES["float32"], seed=3, draw=draw)
    candidates = [dataclasses.replace(problem, window=w).inputs for w in run.run.windows]
    assert any(np.array_equal(a, inputs[0][0]) and np.array_equal(b, inputs[0][1]) for a, b in candidates)


class Replay:
    """A kernel that computes once for each address of C, or once at all, and then copies what it kept."""

    def __init__(self, by_address: bool) -> None:
        self.by_address = by_address
        self.kept: dict[int, np.ndarray] = {}

    def __call__(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        key = addresses["A"] if self.by_address else 0
        if key not in self.kept:
            self.kept[key] = a @ b
        c[:] = self.kept[key]


def test_a_kept_product_is_that_of_an_earlier_launch(timed: Any) -> None:
    run = timed(Replay(by_address=False))
    with pytest.raises(
        KernelError, match=r"^the result is that of an earlier launch, which had other inputs$"
    ):
        run.launches.sample(2, 1, True)


def test_a_product_kept_for_each_address_is_found_when_an_address_returns(timed: Any) -> None:
    run = timed(Replay(by_address=True))
    with pytest.raises(KernelError, match=r"right on the first launch only|an earlier launch"):
        for _ in range(40):
            run.launches.sample(20, 1, True)


@pytest.mark.parametrize("launches", [1, 40])
def test_rows_that_were_not_written_are_named(timed: Any, launches: int) -> None:
    def half(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        c[:10] = (a @ b)[:10]

    with pytest.raises(KernelError, match=r"a later launch did not write C, all in rows 10 to 19"):
        timed(half).launches.sample(1, launches, launches == 1)


def test_one_wrong_launch_of_many_is_found_sooner_or_later(timed: Any) -> None:
    """Of forty launches of a sample the last one and two random ones are judged."""
    count = iter(range(10**6))

    def wrong_sometimes(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        c[:] = a @ b + (next(count) % 41 < 20)

    run = timed(wrong_sometimes)
    with pytest.raises(KernelError, match=r"right on (the first launch|early launches) only; in a later one"):
        for _ in range(20):
            run.launches.sample(1, 40, False)


@pytest.mark.parametrize(("name", "what"), [("A", "wrote into the input A"), ("B", "wrote into the input B")])
def test_inputs_that_a_launch_changed_are_named(timed: Any, name: str, what: str) -> None:
    def overwrite(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        c[:] = a @ b
        {"A": a, "B": b}[name][3, 4] = 0.5

    with pytest.raises(KernelError, match=what):
        timed(overwrite).launches.sample(1, 1, True)


@pytest.mark.parametrize("element", ["float32", "float16"])
@pytest.mark.parametrize("offset", [-1, 5 * 7])
def test_a_write_beyond_the_edge_of_c_is_found(
    timed: Any, driver: FakeDriver, element: str, offset: int
) -> None:
    """An odd number of 16-bit elements ends in the middle of a word."""

    def beyond(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        product(a, b, c, addresses)
        driver.array(addresses["C"] + c.itemsize * offset, c.dtype, 1)[0] = 1

    launches = timed(beyond, shape="5x7x3", element=element).launches
    with pytest.raises(KernelError, match=r"wrote (before the start|past the end) of C"):
        launches.sample(1, 1, True)
    timed(shape="5x7x3", element=element).launches.sample(2, 1, True)


@pytest.mark.parametrize("kind", ["normal", "uniform", "integers"])
@pytest.mark.parametrize(
    "element", [name for name, element in ELEMENT_TYPES.items() if not element.is_integer]
)
def test_a_right_kernel_passes_on_inputs_of_each_kind(timed: Any, element: str, kind: AnyKind) -> None:
    taken = timed(element=element, input_kind=kind).launches.sample(2, 1, True)
    assert taken.judged >= 1 and taken.judged_whole


@pytest.mark.parametrize(
    "element", [name for name, element in ELEMENT_TYPES.items() if not element.is_integer]
)
def test_on_whole_numbers_the_smallest_error_of_one_element_is_wrong(timed: Any, element: str) -> None:
    def one_bit_wrong(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        product(a, b, c, addresses)
        c.view(f"u{c.itemsize}")[11, 7] += 1

    with pytest.raises(KernelError, match=r"1 of 480 elements wrong, first C\[11\]\[7\]"):
        timed(one_bit_wrong, element=element, input_kind="integers").launches.sample(1, 1, True)


@pytest.mark.parametrize("element", ["float32", "bfloat16"])
def test_whole_numbers_of_large_products_are_judged_by_rows_and_sums(
    timed: Any, monkeypatch: Any, element: str
) -> None:
    monkeypatch.setattr(gpu_timed_memory, "MOST_TERMS", 24 * 28)
    monkeypatch.setattr(gpu_timed_memory, "FEWEST_ROWS", 1)
    taken = timed(element=element, input_kind="integers").launches.sample(3, 1, True)
    assert taken.judged and not taken.judged_whole


def test_of_large_products_some_rows_are_judged_and_a_sum_of_each(timed: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(gpu_timed_memory, "MOST_TERMS", 24 * 28)
    monkeypatch.setattr(gpu_timed_memory, "FEWEST_ROWS", 1)
    taken = timed().launches.sample(3, 1, True)
    assert taken.judged and not taken.judged_whole

    def one_wrong_row(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        c[:] = a @ b
        c[11] = 0

    with pytest.raises(KernelError, match="all in row 11"):
        timed(one_wrong_row).launches.sample(1, 1, True)


@pytest.mark.parametrize("column_major", [(), ("A", "B", "C")])
@pytest.mark.parametrize("element", ["float32", "float64", "float8_e4m3"])
def test_a_sample_of_a_launch_has_the_elements_of_its_problem(
    timed: Any, column_major: Any, element: str
) -> None:
    opened = timed(element=element, column_major=column_major)
    rows, columns = np.array([1, 7, 19], np.int32), np.array([0, 23], np.int32)
    problem = Problem(Shape(20, 24, 28), ELEMENT_TYPES[element], 3).redrawn(
        6, Shape(20, 24, 28), column_major, window=300
    )
    opened.run.redraw(problem)
    opened.run.time([Slot(300)], cold=True)
    timed_sample = opened.run.sampled_timed_product(problem, 0, rows, columns)
    of_launch = opened.run.timed_product(0)
    check_sample(timed_sample, problem, of_launch, rows, columns)
    verified = Problem(Shape(20, 24, 28), ELEMENT_TYPES[element], 3)
    opened.run.launch()
    sample = opened.run.sampled_product(verified, rows, columns)
    check_sample(sample, verified, opened.run.product(), rows, columns)


def check_sample(
    sample: SampledProduct, problem: Problem, product: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> None:
    a, b = (matrix.astype(np.longdouble) for matrix in problem.inputs)
    a, b = a[rows], b[:, columns]
    assert np.array_equal(sample.elements, product[np.ix_(rows, columns)].astype(np.float64))
    assert np.abs(sample.high + sample.low.astype(np.longdouble) - a @ b).max() <= 2.0**-58
    assert sample.squares == pytest.approx((a**2 @ b**2).astype(np.float64), rel=1e-12)


@pytest.mark.parametrize("element", ["float32", "float64"])
def test_a_problem_is_made_ready_for_host_methods_where_own_kernels_cannot_be_compiled(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, element: str
) -> None:
    def fail(own: Any, arch: str) -> Any:
        raise NoDeviceError("there is no nvcc")

    device = GpuDevice(0)
    monkeypatch.setattr("cudamm.devices.own_module.OwnModule.load", fail)
    problem = Problem(Shape(20, 24, 28), ELEMENT_TYPES[element], 3)
    device.make_ready(problem)
    assert problem.has_reference
    with pytest.raises(NoDeviceError, match="there is no nvcc"):
        device.fresh_inputs(problem.element)
    device.close()


def test_memory_that_does_not_suffice_is_an_error(timed: Any, driver: FakeDriver) -> None:
    run = timed()
    driver.room_bytes = 2**20 + 2**18  # enough for the kernels that make the inputs
    with pytest.raises(KernelError, match="no device memory for the inputs of timed launches"):
        run.launches.sample(1, 1, True)


def test_a_kernel_that_adds_finds_zeros(timed: Any) -> None:
    def add(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        c += a @ b

    assert timed(add, adds_to_zeros=True).launches.sample(3, 1, True).judged


def test_a_scaled_sum_is_judged_with_the_c_of_its_draw(timed: Any) -> None:
    def scaled(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        c[:] = 2 * (a @ b) + 0.5 * c

    assert timed(scaled, scale=Scale(2, 0.5)).launches.sample(2, 1, True).judged
    with pytest.raises(KernelError, match="right on the first launch only"):
        timed(product, scale=Scale(2, 0.5)).launches.sample(1, 1, True)


def cut_to(bits: int) -> Any:
    def product_of_cut_inputs(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        mask = np.uint32(2**32 - 2 ** (24 - bits))
        left, right = ((np.ascontiguousarray(x).view(np.uint32) & mask).view(np.float32) for x in (a, b))
        c[:] = left @ right

    return product_of_cut_inputs


@pytest.mark.parametrize("whole", [True, False])
def test_timed_launches_in_tf32_may_cut_their_inputs_to_11_bits_and_not_to_8(
    timed: Any, monkeypatch: Any, whole: bool
) -> None:
    if not whole:
        monkeypatch.setattr(gpu_timed_memory, "MOST_TERMS", 24 * 28)
        monkeypatch.setattr(gpu_timed_memory, "FEWEST_ROWS", 1)
    assert timed(cut_to(11), element="tf32").launches.sample(3, 1, True).judged_whole is whole
    with pytest.raises(KernelError, match=r"right on the first launch only"):
        timed(cut_to(8), element="tf32").launches.sample(1, 1, True)


def test_a_lower_precision_than_that_of_the_type_is_found_in_a_timed_launch(timed: Any) -> None:
    def halved(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        c[:] = a.astype(np.float16).astype(np.float32) @ b.astype(np.float16).astype(np.float32)

    expected = r"a later launch computed in less than its type: errors like those of 11-bit products"
    with pytest.raises(KernelError, match=expected):
        timed(halved, "64x64x2048").launches.sample(1, 1, True)
    assert timed(halved, "64x64x2048", allowed_precision="half").launches.sample(1, 1, True).judged


def test_a_sample_that_could_not_be_held_is_repeated_on_new_inputs(timed: Any, monkeypatch: Any) -> None:
    run = timed(element="int32")
    first_draw = run.launches._draw
    answers = iter([None, 2.0])
    monkeypatch.setattr(run.run._device.support, "sample", lambda launches, cold: next(answers))
    monkeypatch.setattr(run.run, "judge", lambda *_: gpu_device.Judged(False, 20))
    assert run.launches.sample(1, 1, True).samples_ms == [2.0]
    assert run.launches._draw == first_draw + 2


# Kernels that cheat if launches follow one another without a pause; see also `tests/cheats`.


def trusts_old_c(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
    if (c.view(np.uint32) == POISON).any():  # a sign that C will be judged
        c[:] = a @ b


class LeavesWorkToTheNextLaunch:
    """A kernel that computes the product of the launch before; the last launch's work is never done."""

    def __init__(self) -> None:
        self.left: list[np.ndarray] = []

    def __call__(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        if self.left:
            left_a, left_b, left_c = self.left
            left_c[:] = left_a @ left_b
        self.left = [a, b, c]


class WritesTheProductOfTheLaunchBefore:
    """A kernel that is one launch late."""

    def __init__(self) -> None:
        self.kept: np.ndarray | None = None

    def __call__(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        c[:] = a @ b if self.kept is None else self.kept
        self.kept = a @ b


def zeroes_all(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
    a[:], b[:], c[:] = 0, 0, 0


def row_sums(a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
    c[:] = 0
    c[:, 0] = a @ b.sum(axis=1)


EARLIER = "the result is that of an earlier launch, which had other inputs"


@pytest.mark.parametrize(
    ("cheat", "launches", "reported"),
    [
        (lambda: trusts_old_c, 10, EARLIER),
        (WritesTheProductOfTheLaunchBefore, 10, EARLIER),
        (lambda: Replay(by_address=False), 100, EARLIER),
        (LeavesWorkToTheNextLaunch, 1, "a later launch did not write C$"),
        (LeavesWorkToTheNextLaunch, 10, f"a later launch did not write C$|{EARLIER}"),
        (lambda: zeroes_all, 10, "a later launch wrote into the input A"),
        (lambda: row_sums, 1, r"4[78]\d of 480 elements wrong"),  # some may be right by chance
    ],
)
@pytest.mark.parametrize("some_rows", [False, True])
def test_a_cheat_of_launches_back_to_back_is_named(
    timed: Any, monkeypatch: Any, cheat: Any, launches: int, reported: str, some_rows: bool
) -> None:
    if some_rows:
        monkeypatch.setattr(gpu_timed_memory, "MOST_TERMS", 24 * 28)
        monkeypatch.setattr(gpu_timed_memory, "FEWEST_ROWS", 1)
    run = timed(cheat())
    with pytest.raises(KernelError, match=reported):
        for _ in range(2):  # the first product of some kernels is right
            run.launches.sample(1, launches, False)


@pytest.mark.parametrize("element", ["float8_e4m3", "bfloat16", "float32"])
@pytest.mark.parametrize("columns", [4, 5, 6, 7])
def test_a_byte_changed_behind_a_matrix_of_any_size_is_found(
    timed: Any, driver: FakeDriver, element: str, columns: int
) -> None:
    """Three rows of these columns end at each byte of a word."""
    run = timed(shape=f"3x8x{columns}", element=element).run
    run.launch()
    run.check_memory()
    behind = run._address("A") + run.matrices["A"].nbytes
    driver.array(behind, np.uint8, 1)[0] ^= 1
    with pytest.raises(KernelError, match="A"):
        run.check_memory()


class Remembers:
    """A kernel that copies the products of inputs that it has seen; a product takes 100 ms."""

    def __init__(self, driver: FakeDriver) -> None:
        self.driver = driver
        self.known: dict[bytes, np.ndarray] = {}

    def __call__(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        if a.tobytes() not in self.known:
            self.known[a.tobytes()] = a @ b
            self.driver.now_ms += 100
        c[:] = self.known[a.tobytes()]


class WorksAhead(Remembers):
    """A kernel that also computes the products of all other windows, as soon as it finds new inputs."""

    def __call__(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, addresses: dict[str, int]) -> None:
        if a.tobytes() not in self.known:
            for place in range(-4, 5):
                of_a, of_b = (
                    self.driver.array(addresses[name] + place * 256, np.float32, matrix.size).reshape(
                        matrix.shape
                    )
                    for name, matrix in (("A", a), ("B", b))
                )
                self.known[of_a.tobytes()] = of_a @ of_b
                self.driver.now_ms += 100
        super().__call__(a, b, c, addresses)


@pytest.mark.parametrize("cheat", [Remembers, WorksAhead])
@pytest.mark.parametrize("launches", [1, 4])
def test_no_launch_before_the_first_event_finds_inputs_of_timed_launches(
    timed: Any, driver: FakeDriver, cheat: Any, launches: int
) -> None:
    taken = timed(cheat(driver)).launches.sample(5, launches, False)
    assert min(taken.samples_ms) >= 100


def test_inputs_of_one_run_do_not_return_in_the_next(timed: Any, driver: FakeDriver) -> None:
    """Else a kernel could keep products in a file."""
    kernel = Remembers(driver)
    for _ in range(2):
        assert min(timed(kernel).launches.sample(5, 1, True).samples_ms) >= 100


def test_only_the_beginnings_of_matrices_are_written_late_and_all_is_as_before(driver: FakeDriver) -> None:
    """The stand-in's kernel asserts that the beginnings are NaN until it writes them."""
    device = GpuDevice(0)
    sizes = 3 * gpu_support.MOST_LATE_BYTES // 2, 300
    matrices = [driver.mem_alloc(size_bytes) for size_bytes in sizes]
    contents = [driver.array(a, np.uint8, size) for a, size in zip(matrices, sizes, strict=True)]
    before = []
    for memory in contents:
        memory[:] = np.arange(memory.size) % 251
        before.append(memory.copy())
    hidden = device.support.hide(zip(map(int, matrices), sizes, strict=True))
    milliseconds = device.support.write_late(hidden)
    assert milliseconds == gpu_support.LATE_NS / 1e6
    assert all(np.array_equal(now, then) for now, then in zip(contents, before, strict=True))
    for matrix in matrices:
        matrix.free()
    device.close()
    assert driver.allocations == []
