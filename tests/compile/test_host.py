"""Compilation for the host: the cache, and messages with which a user can solve the problem."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from compile_cache_files import made_in

from cudamm.compile import host_compiler, precompiled_headers
from cudamm.compile.compiler_process import CompileError, compile_message
from cudamm.compile.program import program
from cudamm.compile.runtime_headers import headers_for
from cudamm.errors import KernelError, NoDeviceError
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.variant import Variant

FLOAT32 = ELEMENT_TYPES["float32"]
WriteKernel = Callable[..., Path]


def program_of(path: Path, fmad: bool = True):
    return program(Variant(read_method(path, Overrides({"threads": "1", "grid": "1"})), ()), FLOAT32, fmad)


def test_the_same_program_is_compiled_once(
    write_kernel: WriteKernel, compiler_calls: list[list[str]]
) -> None:
    source = "__global__ void k(float *C) { C[0] = 41; }"
    first = host_compiler.compile_for_host(program_of(write_kernel(source)))
    assert first.path.is_file()
    assert compiler_calls
    compiler_calls.clear()
    assert host_compiler.compile_for_host(program_of(write_kernel(source))) == first
    assert compiler_calls == []


def test_different_programs_are_compiled_separately(write_kernel: WriteKernel) -> None:
    one = host_compiler.compile_for_host(
        program_of(write_kernel("__global__ void k(float *C) { C[0] = 42; }"))
    )
    two = host_compiler.compile_for_host(
        program_of(write_kernel("__global__ void k(float *C) { C[0] = 43; }"))
    )
    assert one != two


def test_multiply_adds_are_not_fused_without_fmad(
    compiler_calls: list[list[str]], write_kernel: WriteKernel
) -> None:
    path = write_kernel("__global__ void k(float *C) { C[0] = 47; }")
    for fmad, contract in ((True, "fast"), (False, "off")):
        compiler_calls.clear()
        host_compiler.compile_for_host(program_of(path, fmad))
        assert any(f"-ffp-contract={contract}" in command for command in compiler_calls)
        # These options reorder sums, which is another algorithm than the course teaches.
        assert not any({"-Ofast", "-ffast-math"} & set(command) for command in compiler_calls)


def object_of(path: Path) -> Path:
    """Compile a kernel without the runtime; return the object file."""
    kernel, *_ = host_compiler._parts(program_of(path))
    return kernel.compiled()


def test_the_headers_are_precompiled_once_enough_kernels_read_them(
    own_cache: Path,
    compiler_calls: list[list[str]],
    write_kernel: WriteKernel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(precompiled_headers, "_readers", Counter())
    for number in range(5):
        object_of(write_kernel(f"__global__ void k(float *C) {{ C[0] = {number}; }}"))
    steps = [("c++-header" in call, "-include" in call) for call in compiler_calls]
    makes, reads, neither = (True, False), (False, True), (False, False)
    assert steps == [neither, neither, makes, reads, reads, reads]
    (header,) = own_cache.glob("*/*.gch")
    # GCC reads the plain header, without a message, if it cannot use the precompiled one.
    (*command, _) = compiler_calls[-1]
    command[command.index("-o") + 1] = os.devnull
    read = subprocess.run([*command, "-H", os.devnull], capture_output=True, text=True, check=True)
    assert f"! {header}" in read.stderr


def test_an_error_is_the_same_with_precompiled_headers(
    own_cache: Path, write_kernel: WriteKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_kernel("__global__ void k(float *C) { C[0] = __popc(nothing); }")
    outputs = []
    for read_before in (100, 0):
        monkeypatch.setattr(precompiled_headers, "_readers", Counter())
        monkeypatch.setattr(precompiled_headers, "READ_BEFORE", read_before)
        with pytest.raises(CompileError, match="nothing") as caught:
            object_of(path)
        outputs.append(caught.value.output)
    assert list(own_cache.glob("*/*.gch")) and outputs[0] == outputs[1]


def test_the_headers_of_another_version_are_not_read(
    own_cache: Path, write_kernel: WriteKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precompiled_headers, "READ_BEFORE", 0)
    path = write_kernel("__global__ void k(float *C) { C[0] = 1; }")
    for texts in (("one",), ("two",)):
        monkeypatch.setattr(precompiled_headers, "_readers", Counter())
        monkeypatch.setattr(host_compiler, "_runtime_headers", lambda texts=texts: texts)
        object_of(path)
    assert len(list(own_cache.glob("*/*.gch"))) == 2


def test_if_the_fast_linker_fails_the_usual_one_links(
    write_kernel: WriteKernel, monkeypatch: pytest.MonkeyPatch, compiler_calls: list[list[str]]
) -> None:
    monkeypatch.setattr(host_compiler, "_fast_linker", lambda: ["-fuse-ld=missing"])
    linked = host_compiler.compile_for_host(
        program_of(write_kernel("__global__ void k(float *C) { C[0] = 45; }"))
    )
    links = [call for call in compiler_calls if "-c" not in call]
    assert ["-fuse-ld=missing" in call for call in links] == [True, False]
    assert linked.path.is_file()


def test_a_failed_compilation_leaves_no_file_in_the_cache(own_cache: Path, write_kernel: WriteKernel) -> None:
    path = write_kernel("__global__ void k(float *C) { C[0] = 44 }")
    with pytest.raises(KernelError):
        host_compiler.compile_for_host(program_of(path))
    assert own_cache.is_dir()
    # After enough compilations in one process, cudamm's own headers are precompiled, into a folder.
    assert [file for file in made_in(own_cache) if file.suffix != ".folder"] == []


def test_without_a_compiler_the_message_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        host_compiler.compiler.cache_clear()
        with monkeypatch.context() as patch:
            patch.setenv("PATH", "/nonexistent")
            patch.delenv("CXX", raising=False)
            with pytest.raises(NoDeviceError, match=r"no C\+\+ compiler.*install"):
                host_compiler.compiler()
            patch.setenv("CXX", "my-compiler")
            with pytest.raises(NoDeviceError, match="CXX is my-compiler, which was not found"):
                host_compiler.compiler()
    finally:
        host_compiler.compiler.cache_clear()


@pytest.mark.parametrize(
    ("source", "place", "words"),
    [
        ("\n\n__global__ void k(float *C) {\n    C[0] = 1\n}\n", "kernel.cu:4:", "expected"),
        (
            "// A kernel.\n//\n// threads: 1\n\n__global__ void k(float *C) { C[0] = nothing; }\n",
            "kernel.cu:5:",
            "nothing",
        ),
        (
            "#define TILE 4\n__global__ void k(float *C) {\n    C[0] = TILE[3];\n}\n",
            "kernel.cu:",
            "subscript",
        ),
        ("\n#include <no_such_file.h>\n__global__ void k(float *C) {}\n", "kernel.cu:2:", "no_such_file"),
        ("\n\n#error not today\n__global__ void k(float *C) {}\n", "kernel.cu:3:", "not today"),
    ],
)
def test_a_compile_error_has_the_files_own_line_number(
    write_kernel: WriteKernel, source: str, place: str, words: str
) -> None:
    with pytest.raises(KernelError) as raised:
        host_compiler.compile_for_host(program_of(write_kernel(source)))
    message = str(raised.value)
    assert message.startswith(f"does not compile: {place}")
    assert words in message
    assert "\n" not in message


def test_several_errors_are_counted(write_kernel: WriteKernel) -> None:
    source = "__global__ void k(float *C) {\n    C[0] = one;\n    C[1] = two;\n    C[2] = three;\n}\n"
    with pytest.raises(KernelError, match=r"kernel\.cu:2:.*one.*\(and 2 more\)$"):
        host_compiler.compile_for_host(program_of(write_kernel(source)))


def test_a_host_function_that_the_kernel_calls_is_named(write_kernel: WriteKernel) -> None:
    source = (
        "\nfloat dot(const float *a, int n) { return a[n]; }\n"
        "__global__ void k(float *C) { C[0] = dot(C, 1); }\nint main() { k<<<1, 1>>>(nullptr); }\n"
    )
    with pytest.raises(KernelError) as raised:
        host_compiler.compile_for_host(program_of(write_kernel(source)))
    assert str(raised.value) == (
        "does not compile: kernel.cu:3:38: dot is called by the kernel and is a host function: add "
        "__device__ (line 2)"
    )
    assert isinstance(raised.value, CompileError)
    source_line, caret = raised.value.details
    assert source_line == "     3 | __global__ void k(float *C) { C[0] = dot(C, 1); }"
    assert source_line[caret.index("^") :].startswith("dot(C")
    assert raised.value.all_details[-2:] == [source_line, caret]


def test_an_error_in_a_header_of_cudamm_gets_the_users_line() -> None:
    printed = (
        "/site/cudamm/devices/cpu_runtime/cuda_on_cpu.h: In instantiation of ‘T atomicExch(T*, V)’:\n"
        "kernel.cu:7:12:   required from here\n"
        "/site/cudamm/devices/cpu_runtime/cuda_on_cpu.h:211:7: error: cannot convert ‘dim3’ to ‘float’\n"
    )
    assert compile_message(printed) == (
        "does not compile: kernel.cu:7:12: error: cannot convert ‘dim3’ to ‘float’"
    )


def test_a_file_may_end_in_a_comment_or_an_open_brace(write_kernel: WriteKernel) -> None:
    """Code that cudamm appends is no part of the last comment, and errors name the kernel's file."""
    host_compiler.compile_for_host(
        program_of(write_kernel("__global__ void k(float *C) { C[0] = 45; } // end"))
    )
    with pytest.raises(KernelError, match=r"does not compile: kernel\.cu:"):
        host_compiler.compile_for_host(program_of(write_kernel("__global__ void k(float *C) { C[0] = 46;")))


def test_every_function_of_math_h_has_its_header() -> None:
    """The names are those that the host's own compiler finds in <math.h>."""
    source = "#include <math.h>\n"
    command = ["g++", "-x", "c", "-std=c99", "-E", "-"]
    declared = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"\b([a-z]\w*) \(", declared))
    assert len(names) > 150 and {"sqrtf", "fma"} <= names
    assert [name for name in sorted(names) if "host_math.h" not in headers_for(f"x = {name}(y);")] == []
    assert "host_math.h" not in headers_for("for (int k = 0; k < K; ++k) sum += As[ty][k] * Bs[k][tx];")
