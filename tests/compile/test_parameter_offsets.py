"""Offsets of a kernel's parameters in its cubin, against C's layout and the rule for tensor maps."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from cudamm.compile import nvcc_compiler
from cudamm.compile.elf import sections
from cudamm.compile.program import program
from cudamm.compile.resources import parameter_offsets
from cudamm.compile.signature import packed_formats
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.parameter_types import parameter_formats
from cudamm.kernels.variant import Variant, variants

pytestmark = pytest.mark.usefixtures("needs_nvcc")

WriteKernel = Callable[..., Path]
FLOAT32 = ELEMENT_TYPES["float32"]

# Parameter lists, and the same types in ctypes.
CTYPES_OF_PARAMETERS = {
    "int, double *, char, float": [ctypes.c_int, ctypes.c_void_p, ctypes.c_char, ctypes.c_float],
    "char, double, char, short, long long, char": [
        ctypes.c_char, ctypes.c_double, ctypes.c_char, ctypes.c_short, ctypes.c_longlong, ctypes.c_char,
    ],
    "float, float *, bool, bool, unsigned": [
        ctypes.c_float, ctypes.c_void_p, ctypes.c_bool, ctypes.c_bool, ctypes.c_uint,
    ],
    "double": [ctypes.c_double],
}  # fmt: skip


def offsets_in_c(types: list[type]) -> list[int]:
    """Return the offsets of a struct's members in the host's C. nvcc lays out parameters in the same way."""
    fields = [(f"member_{position}", c_type) for position, c_type in enumerate(types)]
    structure = type("Parameters", (ctypes.Structure,), {"_fields_": fields})
    return [getattr(structure, name).offset for name, _ in fields]


def kernel(name: str, declared: str) -> str:
    """Return a kernel with the declared parameters. It stores each, so that nvcc removes none."""
    typed = [f"{c_type} p{i}" for i, c_type in enumerate(declared.split(","))]
    parameters = ", ".join(typed)
    stores = " ".join(f"out[{i}] = (long long)p{i};" for i in range(len(typed)))
    return f"__global__ void {name}({parameters}) {{ {stores} }}\n"


def compiled(path: Path, entry: str = "k", arch: str = "sm_90") -> nvcc_compiler.Cubin:
    method = read_method(path, Overrides({"threads": "1", "grid": "1", "entry": entry}))
    element = ELEMENT_TYPES[method.element_types[0]]
    return nvcc_compiler.compile_for_gpu(program(Variant(method, ()), element, True), arch)


@pytest.mark.parametrize("architecture_index", [0, -1], ids=["oldest", "newest"])
@pytest.mark.slow
def test_parameters_have_the_offsets_of_a_structs_members(
    write_kernel: WriteKernel, architecture_index: int
) -> None:
    kernels = [kernel(f"k{number}", declared) for number, declared in enumerate(CTYPES_OF_PARAMETERS)]
    kernels.append("__global__ void without_parameters() {}\n")
    text = "".join(["__device__ volatile long long out[16];\n", *kernels])
    path, arch = write_kernel(text), nvcc_compiler.nvcc().architectures[architecture_index]
    for number, types in enumerate(CTYPES_OF_PARAMETERS.values()):
        cubin = compiled(path, f"k{number}", arch)
        offsets = parameter_offsets(cubin.image, cubin.kernel)
        assert offsets == offsets_in_c(types)
        # A launch packs each parameter at the offset from which the kernel reads it.
        packed = packed_formats(parameter_formats(text, f"k{number}", FLOAT32), offsets)
        assert struct.calcsize(packed) == offsets[-1] + ctypes.sizeof(types[-1])
    cubin = compiled(path, "without_parameters", arch)
    assert parameter_offsets(cubin.image, cubin.kernel) == []
    assert parameter_offsets(cubin.image, "not_in_the_cubin") == []


def parameters_offset(image: bytes, name: str) -> int:
    """Return the offset of a kernel's parameters in constant bank 0, from its attribute PARAM_CBANK (0x0a).

    The attribute's value is 8 bytes: a symbol's number, the offset (16 bits) and the length (16 bits).
    """
    (information,) = (s.data for s in sections(image) if s.name == f".nv.info.{name}")
    head = struct.pack("=BBH", 0x04, 0x0A, 8)
    assert information.count(head) == 1
    _, begin, _ = struct.unpack_from("=IHH", information, information.index(head) + len(head))
    return int(begin)


@pytest.mark.slow
def test_tensor_maps_are_at_multiples_of_128_in_constant_memory() -> None:
    """Parameters begin at 0x210 of constant bank 0 on sm_90, so the first map's offset is not 0."""
    (variant,) = variants(find("tma"), {})
    cubin = nvcc_compiler.compile_for_gpu(program(variant, FLOAT32, True), "sm_90")
    assert parameters_offset(cubin.image, cubin.kernel) == 0x210
    offsets = parameter_offsets(cubin.image, cubin.kernel)
    assert len(offsets) == len(variant.method.arguments) == 6
    assert [(0x210 + offset) % 128 for offset in offsets[:2]] == [0, 0]
    # The second map follows the first, then M, N and K, then C at a multiple of a pointer's size.
    assert [offset - offsets[0] for offset in offsets] == [0, 128, 256, 260, 264, 272]
    # The buffer that PyCUDA passes has 128 bytes at each map's offset.
    packed = packed_formats(parameter_formats(variant.method.source, "tma", FLOAT32), offsets)
    buffer = struct.pack(packed, b"\1" * 128, b"\2" * 128, 3, 4, 5, 6)
    assert buffer[offsets[0] : offsets[2]] == b"\1" * 128 + b"\2" * 128
    assert buffer[: offsets[0]] == bytes(offsets[0])


@pytest.mark.slow
def test_tensor_maps_are_at_multiples_of_128_on_newer_architectures() -> None:
    newer = [arch for arch in nvcc_compiler.nvcc().architectures if int(arch[3:]) >= 100]
    if not newer:
        pytest.skip("this nvcc compiles for no architecture newer than sm_90")
    (variant,) = variants(find("tma"), {})
    cubin = nvcc_compiler.compile_for_gpu(program(variant, FLOAT32, True), newer[0])
    begin = parameters_offset(cubin.image, cubin.kernel)
    assert [(begin + offset) % 128 for offset in parameter_offsets(cubin.image, cubin.kernel)[:2]] == [0, 0]


def test_structs_have_the_offsets_and_the_sizes_that_nvcc_gives_them(write_kernel: WriteKernel) -> None:
    text = """struct Odd { char kind; double scale; bool on; const double *data; short last; };
    typedef struct { double *elements; int width, height, stride; } Matrix;
    __global__ void k(int n, Odd A, char c, const Matrix B, short s, Matrix C) {
        C.elements[n] = A.data[c] * A.scale * B.elements[s] + A.kind + A.on + A.last + B.stride + C.width;
    }
    """
    launch = "// threads: 1\n// grid: 1\n// args: 3, {1, 2.0, 1, A, 4}, 5, {B, 6, 7, 8}, 9, {C, 1, 2, 3}\n"
    cubin = compiled(write_kernel(launch + text))
    formats = parameter_formats(text, "k", ELEMENT_TYPES["float64"])
    offsets = parameter_offsets(cubin.image, cubin.kernel)
    assert offsets == [0, 8, 48, 56, 80, 88]
    packed = packed_formats(formats, offsets)
    assert struct.calcsize(packed) == struct.calcsize(packed_formats(formats)) == 88 + 24
    (information,) = (s.data for s in sections(cubin.image) if s.name == f".nv.info.{cubin.kernel}")
    *_, length = struct.unpack_from(
        "=BBHIHH", information, information.index(struct.pack("=BBH", 4, 0x0A, 8))
    )
    assert length == 88 + 24
