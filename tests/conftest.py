"""What tests share: one compiler cache a run, the two devices, and short ways to run one kernel."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from cudamm.benchmark.result import Result
    from cudamm.devices.device import Device, Run
    from cudamm.kernels.method import Method, Value
    from cudamm.kernels.problem import Problem
    from cudamm.kernels.variant import Variant


def pytest_configure() -> None:
    # Hundreds of processes that are started here import NumPy: half of that is its BLAS starting threads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # How long an example takes says nothing on a machine that others use too.
    hypothesis.settings.register_profile("cudamm", deadline=None)
    hypothesis.settings.load_profile("cudamm")
    # Of a shell's background job Ctrl-C is ignored, and so by all that it starts: tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` means: tests on a GPU take times, which nothing else may disturb.

    One more than there are cores: a quarter of the time the tests wait, for timeouts and for signals.
    """
    has_gpu = any(Path("/dev").glob("nvidia[0-9]*"))
    return 0 if has_gpu else min(4, (os.cpu_count() or 1) + 1)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        missing = _why_no_gpu()
        if missing:
            pytest.skip(f"no GPU can be opened: {missing}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Fail a test that skips itself where nothing may be skipped, as in CI, if it is not one for a GPU."""
    report = (yield).get_result()
    may_skip = item.get_closest_marker("gpu") or not os.environ.get("CUDAMM_TESTS_MAY_NOT_SKIP")
    if report.skipped and not hasattr(report, "wasxfail") and not may_skip:
        *_, reason = report.longrepr
        report.outcome, report.longrepr = "failed", f"CUDAMM_TESTS_MAY_NOT_SKIP is set. {reason}"


@functools.cache
def _why_no_gpu() -> str:
    """Empty where a GPU answers. Asked for the first marked test only: others need no PyCUDA."""
    from cudamm.devices.gpu_device import import_driver
    from cudamm.errors import NoDeviceError

    try:
        import_driver()
    except NoDeviceError as error:
        return str(error)
    return ""


@pytest.fixture(scope="session", autouse=True)
def compiler_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What this run of the tests compiles, Python included, in all its workers and the processes they start.

    The folder is empty when the run begins, and is never the user's own cache.
    """
    from cudamm.compile import compile_cache

    base = tmp_path_factory.getbasetemp()
    is_worker = "PYTEST_XDIST_WORKER" in os.environ  # each has a folder of its own in that of the run
    folder = (base.parent if is_worker else base) / "compiled"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDAMM_CACHE", str(folder))
        if os.environ.get("PYTHONDONTWRITEBYTECODE"):  # each process would compile all that it imports
            patch.delenv("PYTHONDONTWRITEBYTECODE")
            patch.setenv("PYTHONPYCACHEPREFIX", str(folder.with_name("bytecode")))
        compile_cache.cache_folder.cache_clear()
        yield folder
    compile_cache.cache_folder.cache_clear()


@pytest.fixture(scope="session")
def cpu() -> Device[Any]:
    from cudamm.devices.find_device import find

    return find("cpu")


@pytest.fixture(scope="session")
def gpu() -> Iterator[Device[Any]]:
    from cudamm.devices.find_device import find

    with find("gpu") as device:
        yield device


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device[Any]:
    """Each device in turn: what a test with this fixture says is true of both."""
    chosen: Device[Any] = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture(scope="session")
def kernels() -> Path:
    """The folder of example kernels."""
    return Path(__file__).parent / "example_kernels"


@pytest.fixture
def write_kernel(tmp_path: Path) -> Callable[..., Path]:
    """Write the text of a kernel to a file of its own."""

    def write(text: str, name: str = "kernel.cu") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def verify_one() -> Callable[..., Result]:
    """Verify one method of the ladder, or a file, with parameters at their default or as given."""

    def verify_one(
        device: Device[Any],
        method: str | Path,
        shape: str = "40x24x33",
        dtype: str = "float32",
        *,
        fmad: bool = True,
        seed: int = 0,
        **values: Value,
    ) -> Result:
        from cudamm.benchmark.verify import verify_all
        from cudamm.execution.in_process_executor import InProcessExecutor
        from cudamm.kernels.variant import variants

        (variant,) = variants(_method(method), {name: (value,) for name, value in values.items()})
        with InProcessExecutor(device) as here:
            (result,) = verify_all(here, [(variant, _problem(shape, dtype, seed))], fmad, _silent)
        return result

    return verify_one


@pytest.fixture(scope="session")
def open_run() -> Callable[..., Any]:
    """Open a run of one file's kernel, to be launched and looked at by the test itself."""
    from contextlib import contextmanager

    @contextmanager
    def open_run(
        device: Device[Any], method: str | Path, shape: str, dtype: str = "float32", **values: Value
    ) -> Iterator[Run]:
        from cudamm.execution.in_process_executor import InProcessExecutor
        from cudamm.execution.prepare import prepare
        from cudamm.kernels.variant import variants

        (variant,) = variants(_method(method), {name: (value,) for name, value in values.items()})
        with InProcessExecutor(device) as here:
            (case,) = prepare(here, [(variant, _problem(shape, dtype, 0))], True, _silent)
            with here.open(case) as run:
                yield run

    return open_run


def _method(name: str | Path) -> Method:
    from cudamm.kernels.header import read_method
    from cudamm.kernels.ladder import find

    return read_method(name) if isinstance(name, Path) else find(name)


def _problem(shape: str, dtype: str, seed: int) -> Problem:
    from cudamm.kernels.method import ELEMENT_TYPES
    from cudamm.kernels.problem import Problem, parse_shape

    return Problem(parse_shape(shape), ELEMENT_TYPES[dtype], seed)


def _silent(doing: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


__all__: Sequence[str] = ()


@pytest.fixture(scope="session")
def worth_sweeping() -> Callable[..., list[Variant]]:
    """Every value that a method's header finds worth sweeping, once at least, in variants that it accepts.

    The default, the first and the last of all combinations that the header's requirements allow, and as few
    more as have the other values: all combinations are far too many where a method has many parameters.
    Of some values of a parameter alone where they are named.
    """

    def worth_sweeping(method: Method, **only: Sequence[Value]) -> list[Variant]:
        from cudamm.kernels.variant import variants

        values = {p.name: only.get(p.name, p.values) for p in method.parameters}
        possible = [variant for variant in variants(method, values) if _is_accepted(variant)]
        (default,) = variants(method, {})
        if not only:
            assert default in possible, f"{default} does not meet its own header's requirements"
        chosen = [default] if default in possible else []
        chosen += [possible[0], possible[-1]]
        missing = {(name, value) for name in values for value in values[name]}
        missing -= {pair for variant in chosen for pair in variant.values}
        while missing:
            best = max(possible, key=lambda variant: len(missing.intersection(variant.values)))
            assert missing & set(best.values), (
                f"{method.name}: no combination with any of {missing} is accepted"
            )
            chosen.append(best)
            missing -= set(best.values)
        return list(dict.fromkeys(chosen))

    return worth_sweeping


def _is_accepted(variant: Variant) -> bool:
    """Whether its parameters meet the header's requirements, those on the shape by padding."""
    from cudamm.errors import RequirementError
    from cudamm.kernels.method import ELEMENT_TYPES

    try:
        variant.padded(ELEMENT_TYPES["float32"], 64, 64, 64)
    except RequirementError:
        return False
    return True


@pytest.fixture(scope="session")
def needs_nvcc() -> None:
    """For tests that compile for a GPU."""
    from cudamm.compile.toolkit import find_nvcc

    if find_nvcc() is None:
        pytest.skip("nvcc was not found: it comes with the CUDA toolkit, and with make setup")
