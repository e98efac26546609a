"""The text that the compiler gets: parameters are substituted, line numbers are those of the file."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cudamm.compile.compile_all import compile_all
from cudamm.compile.program import program
from cudamm.errors import KernelError, UsageError
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.ladder import find, ladder
from cudamm.kernels.method import ELEMENT_TYPES, Parameter
from cudamm.kernels.variant import Variant, variants

FLOAT32, FLOAT64 = ELEMENT_TYPES["float32"], ELEMENT_TYPES["float64"]
GEOMETRY = {"threads": "1", "grid": "1"}
WriteKernel = Callable[..., Path]


def substituted(path: Path, dtype: str = "float32", **values: int | str) -> str:
    """Return the program's text after the C preprocessor, without line markers."""
    method = read_method(
        path, Overrides(GEOMETRY, tuple(Parameter(name, value, (value,)) for name, value in values.items()))
    )
    text = program(Variant(method, tuple(values.items())), ELEMENT_TYPES[dtype], True).text
    completed = subprocess.run(
        ["g++", "-E", "-P", "-x", "c++", "-"], input=text, capture_output=True, text=True, check=True
    )
    return " ".join(completed.stdout.split())


def test_a_parameter_replaces_its_name(write_kernel: WriteKernel) -> None:
    path = write_kernel("__global__ void k(float *C) { C[TILE] = TILE2 + TYPE(1); }")
    assert "C[8] = TILE2 + unsigned int(1)" in substituted(path, TILE=8, TYPE="unsigned int")


@pytest.mark.parametrize(
    "define",
    [
        "#define TILE 4",
        "  #  define  TILE  4  // the edge",
        "#define TILE (2 * 2)",
        "#define TILE\t4",
        "#define TILE",
    ],
)
def test_a_parameter_replaces_the_files_own_define(write_kernel: WriteKernel, define: str) -> None:
    path = write_kernel(f"{define}\n#define TILES 5\n__global__ void k(float *C) {{ C[TILE] = TILES; }}")
    assert "C[8] = 5" in substituted(path, TILE=8)


def test_a_parameter_replaces_a_define_inside_ifndef(write_kernel: WriteKernel) -> None:
    path = write_kernel("#ifndef TILE\n#define TILE 4\n#endif\n__global__ void k(float *C) { C[TILE] = 1; }")
    assert "C[8] = 1" in substituted(path, TILE=8)


def test_a_parameter_replaces_all_lines_of_a_define(write_kernel: WriteKernel) -> None:
    path = write_kernel("#define TILE \\\n    4\n__global__ void k(float *C) { C[TILE] = 1; }")
    text = substituted(path, TILE=8)
    assert "C[8] = 1" in text
    assert "4" not in text


def test_a_define_in_a_comment_and_one_with_arguments_are_kept(write_kernel: WriteKernel) -> None:
    path = write_kernel("/*\n#define TILE 4\n*/\n__global__ void k(float *C) { C[TILE] = 1; }")
    assert "C[8] = 1" in substituted(path, TILE=8)
    path = write_kernel("#define AT(i) C[i + TILE]\n__global__ void k(float *C) { AT(1) = 1; }")
    assert "C[1 + 8] = 1" in substituted(path, TILE=8)


def test_element_is_the_requested_type(write_kernel: WriteKernel) -> None:
    path = write_kernel("__global__ void k(element *C) { C[0] = element(1); }")
    for dtype, c_type in (("float32", "float"), ("float64", "double"), ("int32", "int")):
        assert f"typedef {c_type} element;" in substituted(path, dtype)


def test_a_file_that_does_not_use_element_gets_no_typedef(write_kernel: WriteKernel) -> None:
    path = write_kernel("// element\n__global__ void k(float *C) { struct { int element_; } x; C[0] = 1; }")
    assert "typedef" not in substituted(path)


def test_a_type_that_the_method_does_not_support_is_refused(write_kernel: WriteKernel) -> None:
    method = read_method(write_kernel("__global__ void k(float *C) {}"), Overrides(GEOMETRY))
    with pytest.raises(UsageError, match="kernel is written for float32, not float64"):
        program(Variant(method, ()), FLOAT64, True)


@pytest.mark.parametrize("fmad", [True, False])
@pytest.mark.parametrize("method", [m for m in ladder() if m.language != "python"], ids=lambda m: m.name)
def test_lines_keep_their_numbers(method, fmad: bool) -> None:
    (variant,) = variants(method, {})
    element = ELEMENT_TYPES[method.element_types[-1]]
    made = program(variant, element, fmad)
    source = method.source.rstrip().splitlines()
    if "#line" not in method.code:
        start = made.text.splitlines().index(f'#line 1 "{method.path.name}"')
        assert made.text.splitlines()[start + 1 :] == source
    # A header of cudamm's own stands in the place of the line that includes it.
    numbers = [n for n, line in enumerate(source, 1) if not line.startswith('#include "')]
    assert [made.lines[method.path.name, n] for n in numbers] == [source[n - 1] for n in numbers]


def test_lines_keep_their_numbers_if_a_define_is_replaced(write_kernel: WriteKernel) -> None:
    source = "\n#define TILE 4\n\n#define TILE2 TILE\n__global__ void k(float *C) {\n  __LINE__\n}"
    text = substituted(write_kernel(source), TILE=8)
    assert "{ 6 }" in text


def test_variants_with_the_same_source_are_one_program() -> None:
    """Sheffield: with dynamic shared memory, one compiled program runs at any block size."""
    dynamic = {
        program(v, FLOAT32, True) for v in variants(find("tiled-dynamic"), {"BLOCK_SIZE": (8, 16, 32)})
    }
    static = {program(v, FLOAT32, True) for v in variants(find("tiled"), {"BLOCK_SIZE": (8, 16, 32)})}
    assert len(dynamic) == 1
    assert len(static) == 3


def test_fused_and_unfused_are_two_programs() -> None:
    (variant,) = variants(find("naive"), {})
    assert program(variant, FLOAT32, True) != program(variant, FLOAT32, False)
    assert program(variant, FLOAT32, True) != program(variant, FLOAT64, True)


def test_a_batch_compiles_each_program_once_and_returns_failures() -> None:
    cases = [program(v, FLOAT32, True) for v in variants(find("tiled"), {"BLOCK_SIZE": (1, 2, 4)})]
    compiled_texts: list[str] = []
    progress: list[str] = []

    def compile_one(source) -> str:
        compiled_texts.append(source.text)
        if source is cases[1]:
            raise KernelError("does not compile")
        return source.text

    compiled = compile_all([*cases, *cases], compile_one, progress.append)
    assert sorted(compiled_texts) == sorted(p.text for p in cases)
    assert compiled[cases[0]] == cases[0].text
    assert compiled[cases[2]] == cases[2].text
    assert str(compiled[cases[1]]) == "does not compile"
    assert progress == ["tiled"] * 3
