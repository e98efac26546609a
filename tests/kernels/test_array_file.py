"""Arguments that are arrays in NumPy files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cudamm.compile.program import program
from cudamm.compile.signature import check_arguments
from cudamm.errors import UsageError
from cudamm.kernels.array_file import MOST_BYTES, FileArray
from cudamm.kernels.header import read_method
from cudamm.kernels.launch_plan import Launch, plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Shape
from cudamm.kernels.variant import Variant

WriteKernel = Callable[..., Path]
FLOAT32 = ELEMENT_TYPES["float32"]
KERNEL = """\
// args:    A, B, C, {argument}
// threads: 1
// grid:    1

typedef int number;
__global__ void k(const element *A, const element *B, element *C, {parameter}) {{ C[0] = A[0] * B[0]; }}
"""


def launch(
    write_kernel: WriteKernel, argument: str, m: int = 8, parameter: str = "const int *order"
) -> Launch:
    """Return the checked launch of a kernel in a folder with the files that a test has written."""
    path = write_kernel(KERNEL.format(argument=argument, parameter=parameter))
    variant = Variant(read_method(path), ())
    planned = plan(variant, Shape(m, 4, 2), FLOAT32)
    check_arguments(program(variant, FLOAT32, True), planned)
    return planned


def test_an_array_is_read_from_a_file_beside_the_kernel(write_kernel: WriteKernel, tmp_path: Path) -> None:
    order = np.arange(6, dtype=np.int32).reshape(2, 3)
    files = {"8x4": order, "16x4": order + 1, "turned": order.T.copy().T, "big": order.astype(">i4")}
    for name, array in files.items():
        np.save(tmp_path / f"{name}.npy", array)
    given = {m: launch(write_kernel, "file({M}x{N}.npy)", m).arguments[3] for m in (8, 16)}
    assert isinstance(given[8], FileArray) and isinstance(given[16], FileArray)
    assert (given[8].dtype, given[8].content) == ("int32", order.tobytes())
    assert given[16].content == (order + 1).tobytes()
    assert given[8] != given[16] and repr(given[8]) != repr(given[16])
    for name in ("turned", "big"):
        assert launch(write_kernel, f"file({name}.npy)").arguments[3] == given[8]


@pytest.mark.parametrize(
    ("parameter", "dtype"),
    [("number *x", "int32"), ("unsigned long long *x", "uint64"), ("const float *x", "float32"),
     ("element x[]", "float32")],
)  # fmt: skip
def test_the_elements_have_the_type_of_the_parameters(
    write_kernel: WriteKernel, tmp_path: Path, parameter: str, dtype: str
) -> None:
    np.save(tmp_path / "x.npy", np.ones(3, dtype))
    launch(write_kernel, "file(x.npy)", parameter=parameter)
    np.save(tmp_path / "x.npy", np.ones(3, np.int16))
    with pytest.raises(
        UsageError, match=r"argument 4 of k, file\(x.npy\), is an array of int16, and its param"
    ):
        launch(write_kernel, "file(x.npy)", parameter=parameter)


def test_an_array_is_passed_for_a_pointer_to_numbers_only(write_kernel: WriteKernel, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(3, np.int32))
    with pytest.raises(UsageError, match=r"must be a whole number, not file\(x.npy\)"):
        launch(write_kernel, "file(x.npy)", parameter="int x")
    with pytest.raises(UsageError, match=r"is an array of int32, and its parameter is “void \*x”"):
        launch(write_kernel, "file(x.npy)", parameter="void *x")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("file(none.npy)", r"none.npy cannot be read \(No such file or directory\)"),
        ("file(text.npy)", r"text.npy is not a file of numbers that numpy.save has written"),
        ("file(objects.npy)", r"objects.npy is not a file of numbers"),
        ("file(words.npy)", r"words.npy has 1 elements of <U1; a kernel needs"),
        *((f"file(damaged{i}.npy)", rf"damaged{i}.npy is not a file of numbers") for i in range(4)),
        ("file(empty.npy)", r"empty.npy has 0 elements of int32"),
        ("file(large.npy)", r"large.npy is larger than 16,777,216 bytes"),
        ("file(text.npy) + 1", r"must have the form file\(order-\{M\}x\{N\}.npy\)"),
        ("file({Q}.npy)", r"Q"),
    ],
)
def test_files_without_an_array_are_refused(
    write_kernel: WriteKernel, tmp_path: Path, argument: str, message: str
) -> None:
    (tmp_path / "text.npy").write_text("1 2 3")
    (tmp_path / "large.npy").write_bytes(bytes(MOST_BYTES + 1))
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    shapes = "(1099511627776,)", "(100000000000000000000000,)", "(3,", "{[]: 1}"
    for i, shape in enumerate(shapes):
        header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        magic = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
        (tmp_path / f"damaged{i}.npy").write_bytes(magic + header.encode() + bytes(12))
    np.save(tmp_path / "words.npy", np.array(["a"]))
    np.save(tmp_path / "empty.npy", np.array([], np.int32))
    with pytest.raises(UsageError, match=message):
        launch(write_kernel, argument)
