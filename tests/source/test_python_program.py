"""Python programs with kernels as text: the launch that is read, and what is said instead of a guess."""

from __future__ import annotations

import contextlib
import re
import textwrap
from pathlib import Path
from random import Random

import pytest

from cudamm.errors import UsageError
from cudamm.kernels.header import Overrides, entries, read_method
from cudamm.kernels.method import Method
from cudamm.source.python_program import cuda_source

KERNEL = """__global__ void mm(const float *a, const float *b, float *c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}
"""
SQUARE = """__global__ void square(const float *a, const float *b, float *c) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= SIZE || col >= SIZE) return;
    float sum = 0.0f;
    for (int i = 0; i < SIZE; i++) sum += a[row * SIZE + i] * b[i * SIZE + col];
    c[row * SIZE + col] = sum;
}
"""
IMPORTS = """import argparse, math, os, sys, timeit
import cupy as cp
import numpy as np
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule
"""
LAUNCH = (
    "f(drv.In(a), drv.In(b), drv.Out(c), np.int32(m), np.int32(n), np.int32(k), block=(16, 16, 1), grid=grid)"
)


def _method(folder: Path, program: str, kernel: str = KERNEL, entry: str = "") -> Method:
    path = folder / "program.py"
    path.write_text(f'{IMPORTS}text = """{kernel}"""\n{textwrap.dedent(program)}\n', "utf-8")
    return read_method(path, Overrides({"entry": entry} if entry else {}))


@pytest.mark.parametrize(
    ("program", "grid"),
    [
        ("m, n, k = 64, 96, 128\ngrid = ((n + 15) // 16, (m + 15) // 16)", "ceil(N / 16), ceil(M / 16)"),
        ("m = n = k = 500\ngrid = (math.ceil(n / 16), int(np.ceil(n / 16.0)))", "ceil(N / 16), ceil(N / 16)"),
        ("m = n = k = 500\ng = -(-n // 16)\ngrid = (g, g)", "ceil(N / 16), ceil(N / 16)"),
        ("m = n = k = 500\ng = n // 16\nif n % 16: g += 1\ngrid = (g, g)", "ceil(N / 16), ceil(N / 16)"),
        (
            "m = n = k = 500\nif n % 16 == 0:\n    g = n // 16\nelse:\n    g = n // 16 + 1\ngrid = (g, g)",
            "ceil(N / 16), ceil(N / 16)",
        ),
        ("m = n = k = 500\ngrid = (n // 16 + (1 if n % 16 else 0),) * 2", "ceil(N / 16), ceil(N / 16)"),
        ("m = n = k = 512\ngrid = [n // 16, *map(int, (n / 16,))]", None),
        ("m = n = k = int(sys.argv[1])\ngrid = (n // 16, n // 16)", "N // 16, N // 16"),
    ],
)  # fmt: skip
def test_the_grid_is_read_as_python_computes_it(tmp_path: Path, program: str, grid: str | None) -> None:
    arrays = "a = np.ones((m, k), 'f'); b = np.ones((k, n), 'f'); c = np.zeros((m, n), 'f')\n"
    whole = f'f = SourceModule(text).get_function("mm")\n{program}\n{arrays}{LAUNCH}'
    if grid is None:
        with pytest.raises(UsageError, match="lacks"):
            _method(tmp_path, whole)
        return
    fields = dict(_method(tmp_path, whole).found_fields)
    assert (fields["threads"], fields["grid"]) == ("16, 16", grid)


@pytest.mark.parametrize(
    ("program", "arguments", "threads"),
    [
        (
            """
            def run(kernel, a, b, edge=8):
                m, k = a.shape
                n = b.shape[1]
                c = gpuarray.empty((m, n), np.float32)
                kernel(a, b, c, np.int32(m), np.int32(n), np.int32(k), block=(edge, edge, 1),
                       grid=((n + edge - 1) // edge, (m + edge - 1) // edge))
            run(SourceModule(text).get_function("mm"), x, y, edge=32)
            """,
            "A, B, C, M, N, K",
            "32, 32",
        ),
        (
            """
            class Product:
                EDGE = 8
                def __init__(self, n):
                    self.n = n
                    self.kernel = None
                    self.kernel = SourceModule(text).get_function("mm")
                def run(self):
                    a, b = (gpuarray.to_gpu(np.random.rand(self.n, self.n)) for _ in range(2))
                    c = gpuarray.empty_like(a)
                    size = np.int32(self.n)
                    self.kernel(a, b, c, size, size, size, block=(self.EDGE, self.EDGE, 1),
                                grid=(self.n // self.EDGE, self.n // self.EDGE))
            Product(256).run()
            """,
            "A, B, C, N, N, N",
            "8, 8",
        ),
        (
            """
            M, N, K = 100, 200, 300
            A, B = cp.random.rand(M, K), cp.random.rand(K, N)
            C = cp.zeros((M, N), dtype=cp.float32)
            cp.RawKernel(text, "mm")(((N + 31) // 32, (M + 7) // 8), (32, 8), (A, B, C, M, N, K))
            """,
            "A, B, C, M, N, K",
            "32, 8",
        ),
        (
            """
            f = SourceModule(text).get_function("mm").prepare("PPPiii")
            m, n, k = 100, 200, 300
            a_gpu, b_gpu, c_gpu = (drv.mem_alloc(size * 4) for size in (m * k, k * n, m * n))
            f.prepared_call(((n + 15) // 16, (m + 15) // 16), (16, 16, 1), a_gpu, b_gpu, c_gpu, m, n, k)
            """,
            "A, B, C, M, N, K",
            "16, 16",
        ),
        (
            """
            f = None
            def compile_once():
                global f
                f = SourceModule(text).get_function("mm")
            def launch(a, b, c):
                f(a, b, c, np.int32(a.shape[0]), np.int32(b.shape[1]), np.int32(a.shape[1]),
                  block=(16, 16, 1), grid=((b.shape[1] + 15) // 16, (a.shape[0] + 15) // 16))
            compile_once()
            launch(np.ones((64, 96)), np.ones((96, 128)), np.ones((64, 128)))
            """,
            "A, B, C, M, N, K",
            "16, 16",
        ),
    ],
    ids=["function", "class", "cupy", "prepared", "global"],
)
def test_the_launch_is_followed_through_the_program(
    tmp_path: Path, program: str, arguments: str, threads: str
) -> None:
    method = _method(tmp_path, program)
    fields = dict(method.found_fields)
    assert (", ".join(method.arguments), fields["threads"]) == (arguments, threads)


@pytest.mark.parametrize(
    ("built", "size", "value"),
    [
        ('text.replace("SIZE", str(n))', "SIZE", 128),
        ('text.replace("SIZE", "%(EDGE)d") % {"EDGE": n}', "EDGE", 128),
        ('"#define SIZE %d\\n" % n + text', "SIZE", 128),
        ('f"#define SIZE {n}\\n{text}"', "SIZE", 128),
        ('"\\n".join([f"const int SIZE = {n};", text])', "SIZE", 128),
        ('Template(text.replace("SIZE", "$EDGE")).substitute(EDGE=n)', "EDGE", 128),
        ('text, options=["-DSIZE=" + str(n)]', "SIZE", 128),
    ],
)
def test_a_number_in_the_text_is_the_size_of_each_problem(
    tmp_path: Path, built: str, size: str, value: int
) -> None:
    program = f"""
    from string import Template
    n = 128
    a = np.random.rand(n, n)
    f = SourceModule({built}).get_function("square")
    f(drv.In(a), drv.In(a), drv.Out(a), block=(16, 16, 1), grid=(n // 16, n // 16))
    """
    method = _method(tmp_path, program, SQUARE)
    assert dict(method.found_fields)["sizes"] == f"{size}=N"
    assert re.search(rf"{size}\b", method.source)
    assert str(value) in method.source


def test_lines_are_those_of_the_program_or_of_the_file_with_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "mm.cu").write_text(f"// the kernel\n{KERNEL}", "utf-8")
    first = KERNEL.split("\n")[0]
    program = f'import pycuda\n\ntext = """\n{KERNEL}"""\nmod = pycuda.SourceModule(text)\n'
    own = cuda_source(program, tmp_path / "program.py").split("\n")
    assert own.index(first) == program.split("\n").index(first)
    program = """
    with open(os.path.join(os.path.dirname(__file__), "mm.cu")) as file:
        beside = file.read()
    SourceModule(beside)
    """
    lines = cuda_source(IMPORTS + textwrap.dedent(program), tmp_path / "program.py").split("\n")
    place = lines.index('#line 1 "mm.cu"')
    assert lines[place + 2] == first


@pytest.mark.parametrize(
    "path",
    [
        'Path(__file__).with_name("program.cu")',
        'Path(__file__).resolve().with_suffix(".cu")',
        'Path(__file__).parent.joinpath("program.cu")',
        'Path(__file__).parent / Path("program.cu")',
        'f"{os.path.dirname(os.path.abspath(__file__))}/{name}.cu"',
        'Path(__file__).resolve().parents[0] / f"{Path(__file__).stem}.cu"',
        '__file__.replace(".py", ".cu")',
        '__file__[:-3] + ".cu"',
        'os.path.splitext(os.path.realpath(sys.argv[0]))[0] + ".cu"',
        'os.path.join(os.getcwd(), "program.cu")',
    ],
)
def test_a_file_beside_the_program_has_several_names(tmp_path: Path, path: str) -> None:
    (tmp_path / "program.cu").write_text(KERNEL, "utf-8")
    program = f'{IMPORTS}\nname = "program"\nSourceModule(open({path}).read())\n'
    assert '#line 1 "program.cu"' in cuda_source(program, tmp_path / "program.py")


def test_a_file_may_be_in_a_folder_above_that_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "mm.cu").write_text(KERNEL, "utf-8")
    program = f'{IMPORTS}\nSourceModule((Path(__file__).resolve().parents[1] / "mm.cu").read_text())\n'
    assert '#line 1 "../mm.cu"' in cuda_source(program, tmp_path / "bench" / "program.py")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("SourceModule(open('missing.cu').read())", r"program.py:\d+: the program reads missing.cu"),
        ("SourceModule(generated())", r"program.py:\d+: the text .* not known .*generated\(\)"),
        ("print(1", r"program.py:\d+: this is no Python 3"),
        ("@cuda.jit\ndef mm(a, b, c): pass", "mm is a kernel in Python, for Numba"),
        ("from triton import jit\n@jit\ndef mm(a, b, c): pass", "mm is a kernel in Python, for Triton"),
        ("ElementwiseKernel('float x', 'float y', 'y = x', 'same')", "an ElementwiseKernel is an expression"),
        ("print('hello')", "contains no CUDA kernel as text"),
        ("load(name='mm', sources=['mm.cpp', 'mm.cu'])", "compiles mm.cu: give cudamm that file"),
    ],
)
def test_what_is_not_read_is_refused_with_what_to_do(tmp_path: Path, program: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cuda_source(IMPORTS + program, tmp_path / "program.py")


def test_two_texts_with_one_name_need_a_choice(tmp_path: Path) -> None:
    program = """
    other = "#define EDGE 8\\n" + text.replace("mm", "other_mm")
    text = "#define EDGE 16\\n" + text
    for part, name in ((text, "mm"), (other, "other_mm")):
        SourceModule(part).get_function(name)
    SourceModule(text), SourceModule(other)
    f = SourceModule(other).get_function("other_mm")
    m = n = k = 64
    grid = (n // 16, m // 16)
    """
    with pytest.raises(UsageError, match=r"each define EDGE: choose a kernel with --entry \(mm, other_mm\)"):
        _method(tmp_path, program + LAUNCH)
    assert "#define EDGE 8" in _method(tmp_path, program + LAUNCH, entry="other_mm").source


def test_every_kernel_that_a_loop_launches_is_found(tmp_path: Path) -> None:
    program = """
    mod = SourceModule(text + text.replace("mm", "second"))
    m, n, k = 64, 96, 128
    grid = ((n + 15) // 16, (m + 15) // 16)
    a, b, c = np.ones((m, k), "f"), np.ones((k, n), "f"), np.zeros((m, n), "f")
    for name, f in {"one": mod.get_function("mm"), "two": mod.get_function("second")}.items():
    """
    text = f'{IMPORTS}text = """{KERNEL}"""\n{textwrap.dedent(program)}    {LAUNCH}\n'
    path = tmp_path / "program.py"
    path.write_text(text, "utf-8")
    source = cuda_source(text, path)
    assert entries(source, path, Overrides()) == ["mm", "second"]


def test_nothing_of_the_program_is_executed(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    program = f"n = os.system('touch {trap}')\nopen({str(trap)!r}, 'w').write('x')\nSourceModule(text)"
    _ = cuda_source(f'{IMPORTS}text = """{KERNEL}"""\n{program}', tmp_path / "program.py")
    assert not trap.exists()


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_program_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    random = Random(seed)  # noqa: S311
    folder = Path(__file__).parents[1] / "handed_in/python"
    programs = [path.read_text("utf-8") for path in sorted(folder.glob("*.py"))]
    parts = [part for program in programs for part in re.findall(r"\w+|[^\w\s]|\n +", program)]
    for _ in range(100):
        words = re.findall(r"\w+|\W", random.choice(programs))
        for _ in range(random.randint(1, 4)):
            words[random.randrange(len(words))] = random.choice(parts)
        with contextlib.suppress(UsageError):
            cuda_source("".join(words), tmp_path / "program.py")
