"""Fixtures for all tests: one compiler cache per test run, the two devices, and ways to run one kernel."""

from __future__ import annotations

import functools
import gc
import os
import signal
from collections import Counter
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
    # The tests start hundreds of processes that import NumPy. Half of the import is BLAS starting threads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A busy machine makes the duration of an example meaningless, so there is no deadline.
    hypothesis.settings.register_profile("cudamm", deadline=None)
    hypothesis.settings.load_profile("cudamm")
    # Some tests send Ctrl-C, which a shell's background job ignores, as do the processes that the job starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and some tests close a terminal


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases that `sampled` leaves out of `make test` as slow, but none that is long or for a GPU."""
    counts: Counter[str] = Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled and not (item.get_closest_marker("gpu") or item.get_closest_marker("long")):
            test = item.nodeid.partition("[")[0]
            (every,) = sampled.args
            if counts[test] % every != sampled.kwargs.get("first", 0):
                item.add_marker(pytest.mark.slow)
            counts[test] += 1


def pytest_collection_finish() -> None:
    # Thousands of tests are objects that live to the end: no search for garbage has to look at them.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of workers for `-n auto`.

    On a machine with a GPU the number is 0: tests measure times there, and parallel tests would disturb the
    measurements. Elsewhere it is the number of cores, and 4 at most.
    """
    has_gpu = any(Path("/dev").glob("nvidia[0-9]*"))
    return 0 if has_gpu else min(4, os.cpu_count() or 1)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        reason = _why_no_gpu()
        if reason:
            pytest.skip(f"no GPU can be opened: {reason}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Fail a test without the gpu mark that skips itself, if CUDAMM_TESTS_MAY_NOT_SKIP is set (as in CI)."""
    report = (yield).get_result()
    may_skip = item.get_closest_marker("gpu") or not os.environ.get("CUDAMM_TESTS_MAY_NOT_SKIP")
    if report.skipped and not hasattr(report, "wasxfail") and not may_skip:
        *_, reason = report.longrepr
        report.outcome, report.longrepr = "failed", f"CUDAMM_TESTS_MAY_NOT_SKIP is set. {reason}"


@functools.cache
def _why_no_gpu() -> str:
    """Return the reason why no GPU can be opened, or an empty string if a GPU answers.

    The first test marked gpu is the first caller, because other tests do not need PyCUDA.
    """
    from cudamm.devices.gpu_device import import_driver
    from cudamm.errors import NoDeviceError

    try:
        import_driver()
    except NoDeviceError as error:
        return str(error)
    return ""


@pytest.fixture(scope="session", autouse=True)
def compiler_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the compiler cache of this test run, which all workers and the processes that they start share.

    The folder is empty when the test run begins, and is never the user's own cache.
    """
    from cudamm.compile import compile_cache

    base = tmp_path_factory.getbasetemp()
    is_worker = "PYTEST_XDIST_WORKER" in os.environ  # a worker's base folder lies in the run's base folder
    folder = (base.parent if is_worker else base) / "compiled"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDAMM_CACHE", str(folder))
        if os.environ.get("PYTHONDONTWRITEBYTECODE"):
            # With the variable set, each process would compile all modules that it imports.
            patch.delenv("PYTHONDONTWRITEBYTECODE")
            patch.setenv("PYTHONPYCACHEPREFIX", str(folder.with_name("bytecode")))
        compile_cache.cache_folder.cache_clear()
        yield folder
    compile_cache.cache_folder.cache_clear()


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield an empty compiler cache for one test."""
    from cudamm.compile import compile_cache

    folder = tmp_path / "deep" / "cache"
    monkeypatch.setenv("CUDAMM_CACHE", str(folder))
    compile_cache.cache_folder.cache_clear()
    yield folder
    monkeypatch.undo()
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
    """Return the CPU device, then a GPU: a test with this fixture runs on both."""
    chosen: Device[Any] = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture(scope="session")
def kernels() -> Path:
    """Return the folder of example kernels."""
    return Path(__file__).parent / "example_kernels"


@pytest.fixture(scope="session")
def is_running() -> Callable[[int], bool]:
    """Return a function that says whether a process runs. One that ended and was not waited for does not."""

    def is_running(process: int) -> bool:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
        except OSError:
            return False
        return state not in "ZX"

    return is_running


@pytest.fixture
def write_kernel(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes the text of a kernel to a file and returns the path."""

    def write(text: str, name: str = "kernel.cu") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def verify_one() -> Callable[..., Result]:
    """Return a function that verifies one method, given by its name in the ladder or by its file."""

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
        with InProcessExecutor(device) as executor:
            (result,) = verify_all(executor, [(variant, _problem(shape, dtype, seed))], fmad, _silent)
        return result

    return verify_one


@pytest.fixture(scope="session")
def open_run() -> Callable[..., Any]:
    """Return a context manager that opens a run of one kernel without launching it."""
    from contextlib import contextmanager

    @contextmanager
    def open_run(
        device: Device[Any], method: str | Path, shape: str, dtype: str = "float32", **values: Value
    ) -> Iterator[Run]:
        from cudamm.execution.in_process_executor import InProcessExecutor
        from cudamm.execution.prepare import prepare
        from cudamm.kernels.variant import variants

        (variant,) = variants(_method(method), {name: (value,) for name, value in values.items()})
        with InProcessExecutor(device) as executor:
            (case,) = prepare(executor, [(variant, _problem(shape, dtype, 0))], True, _silent, verified=True)
            with executor.open(case) as run:
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
    """Ignore the progress."""


@pytest.fixture(scope="session")
def worth_sweeping() -> Callable[..., list[Variant]]:
    """Return a function that chooses variants in which each value of a method's header occurs at least once.

    The function returns the default, the first and the last combination that the header's requirements allow,
    and as few others as contain the remaining values. A method with many parameters has too many combinations
    to test all. A keyword argument replaces the values of the parameter that it names.
    """

    def worth_sweeping(method: Method, **given_values: Sequence[Value]) -> list[Variant]:
        from cudamm.kernels.variant import variants

        values = {p.name: given_values.get(p.name, p.values) for p in method.parameters}
        accepted = [variant for variant in variants(method, values) if _is_accepted(variant)]
        (default,) = variants(method, {})
        if not given_values:
            assert default in accepted, f"{default} does not meet its own header's requirements"
        chosen = [default] if default in accepted else []
        chosen += [accepted[0], accepted[-1]]
        missing = {(name, value) for name in values for value in values[name]}
        missing -= {pair for variant in chosen for pair in variant.values}
        while missing:
            best = max(accepted, key=lambda variant: len(missing.intersection(variant.values)))
            assert missing & set(best.values), (
                f"{method.name}: no combination with any of {missing} is accepted"
            )
            chosen.append(best)
            missing -= set(best.values)
        return list(dict.fromkeys(chosen))

    return worth_sweeping


def _is_accepted(variant: Variant) -> bool:
    """Return whether the parameters meet the header's requirements, if the matrices are padded."""
    from cudamm.errors import RequirementError
    from cudamm.kernels.method import ELEMENT_TYPES

    try:
        variant.padded(ELEMENT_TYPES[variant.method.element_types[0]], 64, 64, 64)
    except RequirementError:
        return False
    return True


@pytest.fixture(scope="session")
def needs_nvcc() -> None:
    """Skip the test if nvcc was not found."""
    from cudamm.compile.toolkit import find_nvcc

    if find_nvcc() is None:
        pytest.skip("nvcc was not found: it comes with the CUDA toolkit, and with make setup")
