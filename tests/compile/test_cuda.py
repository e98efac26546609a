"""Compilation with nvcc: a kernel's resources, against ptxas and the source; the cache; messages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from compile_cache_files import made_in

from cudamm.compile import listing, nvcc_compiler
from cudamm.compile.elf import check_elf
from cudamm.compile.program import Program, program
from cudamm.compile.resources import Resources
from cudamm.errors import KernelError, NoDeviceError
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.variant import Variant, variants

pytestmark = pytest.mark.usefixtures("needs_nvcc")

WriteKernel = Callable[..., Path]
PLAIN = "__global__ void k(float *C) { C[threadIdx.x] = 1; }\n"

# A kernel that takes more than 64 registers unless ptxas has to save some.
GREEDY = """\
__device__ void rounds(float *C) {
    float s[60];
    for (int i = 0; i < 60; ++i) s[i] = C[i];
    for (int j = 0; j < 99; ++j)
        for (int i = 0; i < 60; ++i) s[i] = s[i] * s[(i + 1) % 60] + j;
    for (int i = 0; i < 60; ++i) C[i] = s[i];
}
__global__ void greedy(float *C) { rounds(C); }
"""

# Kernels of many kinds. The sizes that tests expect are counted in this source.
KERNELS = (
    GREEDY
    + """\
__constant__ float weights[100];
__constant__ int edge;
__device__ float twice(float x) { return 2 * x; }
__device__ double twice(double x) { return x + x; }
template <int N> __global__ void __launch_bounds__(N) of_size(float *C) { C[threadIdx.x] = N; }
template __global__ void of_size<96>(float *);
__global__ void plain(float *C) { C[0] = twice(weights[threadIdx.x]) + edge; }
extern "C" __global__ void unmangled(float *C) { C[0] = (float)twice((double)C[1]); }
__global__ void shared(float *C) {
    __shared__ float some[300];
    __shared__ double more[10];
    some[threadIdx.x] = C[threadIdx.x], more[threadIdx.x % 10] = C[0];
    __syncthreads();
    C[0] = some[C[1] > 0 ? 7 : 8] + more[C[2] > 0 ? 1 : 2];
}
__global__ void local(float *C) {
    float a[150];
    for (int i = 0; i < 150; ++i) a[i] = C[i] * C[i + 1];
    a[(int)C[1] % 150] += 1;
    C[0] = a[(int)C[2] % 150];
}
__global__ void __launch_bounds__(256) bounded(float *C) { C[threadIdx.x] = 1; }
__global__ void __launch_bounds__(128, 4) twice_bounded(float *C) { C[threadIdx.x] = 1; }
__global__ void __launch_bounds__(1024, 1) spilling(float *C) { rounds(C); }
__global__ void named(float *C) {
    asm volatile("bar.sync 2, 64;");
    asm volatile("bar.sync 6, 64;");
    C[0] = 1;
}
__global__ void any_barrier(float *C, int which) { asm volatile("bar.sync %0, 64;" ::"r"(which)); C[0] = 1; }
"""
)
ENTRIES = {
    "of_size": "_Z7of_sizeILi96EEvPf", "plain": "_Z5plainPf", "unmangled": "unmangled",
    "shared": "_Z6sharedPf", "local": "_Z5localPf", "bounded": "_Z7boundedPf",
    "twice_bounded": "_Z13twice_boundedPf", "greedy": "_Z6greedyPf", "spilling": "_Z8spillingPf",
    "named": "_Z5namedPf", "any_barrier": "_Z11any_barrierPfi",
}  # fmt: skip
PTXAS = re.compile(
    r"entry function '(?P<name>\w+)'.*?(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)


def program_of(path: Path, entry: str = "k", fmad: bool = True) -> Program:
    method = read_method(path, Overrides({"threads": "1", "grid": "1", "entry": entry}))
    return program(Variant(method, ()), ELEMENT_TYPES[method.element_types[0]], fmad)


@pytest.mark.slow
def test_code_for_one_architecture_only_is_compiled_for_that_architecture(write_kernel: WriteKernel) -> None:
    """ptxas compiles instructions for the tensor cores of sm_90 only if the target is `sm_90a`."""
    fence = '__global__ void k(float *C) { asm volatile("wgmma.fence.sync.aligned;"); C[0] = 1; }\n'
    assert nvcc_compiler.compile_for_gpu(program_of(write_kernel(fence)), "sm_90").arch == "sm_90"
    with pytest.raises(KernelError, match="wgmma"):
        nvcc_compiler.compile_for_gpu(program_of(write_kernel(f"// needs: sm_90\n\n{fence}")), "sm_90")
    (default,) = variants(find("bf16x9"), {})
    own = program(default, ELEMENT_TYPES["float32"], True)
    assert "wgmma.fence.sync.aligned" in own.text
    assert nvcc_compiler.compile_for_gpu(own, "sm_90").arch == "sm_90"
    for other in ("sm_80", "sm_100"):
        message = f"does not compile for {other}: bf16x9 runs on sm_90 only"
        with pytest.raises(KernelError, match=message):
            nvcc_compiler.compile_for_gpu(own, other)


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("columns", [64, 128, 192, 256])
def test_the_multiplications_of_float8_run_asynchronously_and_no_register_is_spilled(columns: int) -> None:
    """ptxas reports (C7510 and others) if it lets each multiplication wait for the previous one."""
    element = ELEMENT_TYPES["float8_e4m3"]
    (variant,) = variants(find("float8"), {"BN": [columns]})
    own = program(variant, element, True)
    command = [*nvcc_compiler.nvcc_command(own, "sm_90"), "-cubin", "-Xptxas", "-v"]
    _, report = nvcc_compiler.made_by_nvcc(command, own.text, ".cubin")
    assert "0 bytes spill stores, 0 bytes spill loads" in report
    assert re.findall(r"C75\d\d|erialized", report) == []
    for other in ("sm_80", "sm_100"):
        with pytest.raises(KernelError, match=f"does not compile for {other}: float8 runs on sm_90 only"):
            nvcc_compiler.compile_for_gpu(own, other)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("which", [0, -1], ids=["oldest", "newest"])
def test_resources_are_those_of_ptxas_and_the_source(
    which: int, write_kernel: WriteKernel, tmp_path: Path, compiler_calls: list[list[str]]
) -> None:
    arch = nvcc_compiler.nvcc().architectures[which]
    path = write_kernel(KERNELS)
    found = {entry: nvcc_compiler.compile_for_gpu(program_of(path, entry), arch) for entry in ENTRIES}
    assert len(compiler_calls) == 2  # a template, and all other kernels of the file at once
    assert {entry: cubin.kernel for entry, cubin in found.items()} == ENTRIES

    # nvcc runs without cudamm, with these options only.
    command = [
        nvcc_compiler.nvcc().path,
        "-cubin",
        f"-arch={arch}",
        "-Xptxas",
        "-v",
        "-o",
        tmp_path / "x.cubin",
        path,
    ]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    by_ptxas = {match["name"]: match for match in PTXAS.finditer(log)}
    assert set(by_ptxas) == set(ENTRIES.values())
    for cubin in found.values():
        ptxas, ours = by_ptxas[cubin.kernel], cubin.resources
        smem = re.search(r"(\d+) bytes smem", ptxas["rest"])
        assert ours.registers_per_thread == int(ptxas["registers"])
        assert ours.static_shared_bytes == (int(smem[1]) if smem else 0)
        assert ours.local_bytes_per_thread == int(ptxas["stack"])
        assert (ours.spill_store_bytes, ours.spill_load_bytes) == (int(ptxas["stores"]), int(ptxas["loads"]))

    def values_of(name: str) -> dict[str, object]:
        return {entry: getattr(cubin.resources, name) for entry, cubin in found.items()}

    zeros = dict.fromkeys(ENTRIES, 0)
    assert values_of("constant_bytes") == dict.fromkeys(ENTRIES, 100 * 4 + 4)
    assert values_of("static_shared_bytes") == zeros | {"shared": 300 * 4 + 10 * 8}
    # Barriers are numbered, and all below the highest are taken. An unknown number may be any of the 16.
    assert values_of("barriers") == zeros | {"shared": 1, "named": 7, "any_barrier": 16}
    bounds = {"of_size": 96, "bounded": 256, "twice_bounded": 128, "spilling": 1024}
    assert values_of("max_threads_per_block") == dict.fromkeys(ENTRIES) | bounds
    assert values_of("local_bytes_per_thread")["local"] == 150 * 4
    # 65536 registers / 1024 threads = 64 each, so the kernel spills. With 255 registers it does not.
    spilling, greedy = found["spilling"].resources, found["greedy"].resources
    assert spilling.registers_per_thread <= 64 < greedy.registers_per_thread
    assert min(spilling.spill_store_bytes, spilling.spill_load_bytes, spilling.local_bytes_per_thread) > 0
    assert (greedy.spill_store_bytes, greedy.spill_load_bytes, greedy.local_bytes_per_thread) == (0, 0, 0)


def test_the_architectures_are_those_that_nvcc_lists() -> None:
    listed = subprocess.run(
        [nvcc_compiler.nvcc().path, "--list-gpu-code"], capture_output=True, text=True, check=True
    )
    names = set(re.findall(r"sm_\d+", listed.stdout))
    assert names and set(nvcc_compiler.nvcc().architectures) == names


def test_an_architecture_that_nvcc_does_not_list_is_refused(
    write_kernel: WriteKernel, compiler_calls: list[list[str]]
) -> None:
    for arch in ("sm_10", "sm_30", "sm_99"):
        with pytest.raises(NoDeviceError, match=rf"cannot compile for {arch}, only for sm_\d+, .*sm_90"):
            nvcc_compiler.compile_for_gpu(program_of(write_kernel(PLAIN)), arch)
    nvcc_compiler.check_architecture("sm_90a")
    assert compiler_calls == []


def test_without_nvcc_the_message_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc_compiler.nvcc.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(nvcc_compiler, "find_nvcc", lambda: None)
        with pytest.raises(NoDeviceError, match="nvcc was not found: run make setup"):
            nvcc_compiler.check_architecture("sm_90")


def test_a_kernel_without_arrays_uses_only_registers_and_is_compiled_once(
    write_kernel: WriteKernel, compiler_calls: list[list[str]], own_cache: Path
) -> None:
    first = nvcc_compiler.compile_for_gpu(program_of(write_kernel(PLAIN)), "sm_90")
    assert len(compiler_calls) == 1
    assert nvcc_compiler.compile_for_gpu(program_of(write_kernel(PLAIN)), "sm_90") == first
    assert len(compiler_calls) == 1
    assert [path.suffix for path in made_in(own_cache)] == [".cubin"]
    registers = first.resources.registers_per_thread
    assert 1 <= registers <= 32
    assert first.resources == Resources(registers, 0, 0, 0, 0, 0, 0, None)


@pytest.mark.slow
def test_ptxas_gets_the_options_of_the_header(
    write_kernel: WriteKernel, compiler_calls: list[list[str]], own_cache: Path
) -> None:
    """The options limit a kernel's registers, and programs with different options are compiled separately."""
    header = "// A kernel.\n//\n// threads: 1\n// grid: 1\n"
    registers = []
    for options in ((), ("--maxrregcount=32", "-O1")):
        field = f"// ptxas: {' '.join(options)}\n" if options else ""
        cubin = nvcc_compiler.compile_for_gpu(
            program_of(write_kernel(header + field + GREEDY), "greedy"), "sm_90"
        )
        registers.append(cubin.resources.registers_per_thread)
        assert [word for word in compiler_calls[-1] if word.startswith("-Xptxas=-")] == [
            *(f"-Xptxas={option}" for option in options), "-Xptxas=-v"
        ]  # fmt: skip
    assert len(compiler_calls) == 2
    unlimited, at_most_32 = registers
    assert at_most_32 <= 32 < unlimited


def test_an_option_that_ptxas_does_not_know_is_an_error_in_one_line(write_kernel: WriteKernel) -> None:
    path = write_kernel(f"// threads: 1\n// grid: 1\n// ptxas: --no-such-option\n\n{PLAIN}")
    with pytest.raises((KernelError, NoDeviceError)) as raised:
        nvcc_compiler.compile_for_gpu(program_of(path), "sm_90")
    assert "no-such-option" in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.slow
def test_a_changed_include_is_compiled_again_and_files_may_contain_any_characters(
    write_kernel: WriteKernel, compiler_calls: list[list[str]]
) -> None:
    path = write_kernel(
        '\ufeff// Größe, 行列\n#include "one.h"\n__global__ void k(float *C) { C[0] = EDGE[1]; }\n'
    )
    for edge, calls in ((100, 2), (200, 4), (200, 4)):  # one call for machine code, and one for PTX
        # The file includes one.h, which includes two.h, which changes.
        write_kernel('#include "two.h"  // größer — 大\n', "one.h")
        write_kernel(f"__constant__ float EDGE[{edge}];\n", "two.h")
        assert nvcc_compiler.compile_for_gpu(program_of(path), "sm_90").resources.constant_bytes == 4 * edge
        assert f" EDGE[{4 * edge}]" in listing.ptx(program_of(path), "sm_90").text
        assert len(compiler_calls) == calls


def test_no_file_of_the_current_folder_is_taken_for_a_header_of_cuda(
    write_kernel: WriteKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_kernel("#include <edge.h>\n__global__ void k(float *C) { C[0] = EDGE[1]; }\n")
    (tmp_path / "cuda_runtime.h").write_text("#error a file of the user\n")
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "edge.h").write_text("__constant__ float EDGE[25];\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CPATH", "headers")  # a relative folder, which is searched for in the current one
    assert nvcc_compiler.compile_for_gpu(program_of(path), "sm_90").resources.constant_bytes == 100
    assert " EDGE[100]" in listing.ptx(program_of(path), "sm_90").text


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("source", "place", "words"),
    [
        ("// A.\n//\n// threads: 1\n\n__global__ void k(float *C) { C[0] = no; }\n", "kernel.cu(5)", '"no"'),
        ("__global__ void k(float *C) { float error = no; C[0] = error; }\n", "kernel.cu(1)", '"no"'),
        ("\n#include <no_such.h>\n" + PLAIN, "kernel.cu:2:", "no_such.h"),
        ("__global__ void k(int *C) { __shared__ int a[12289]; *C = a[*C]; }", "ptxas error", "shared data"),
        (
            "__device__ __forceinline__ int f(int); __global__ void k(int *C) { *C = f(1); }",
            "ptxas fatal : Unresolved extern function",  # after a warning of nvcc, with the same exit status
            "f",
        ),
    ],
)
def test_a_compile_error_is_one_line_with_the_files_own_number(
    write_kernel: WriteKernel, own_cache: Path, source: str, place: str, words: str
) -> None:
    with pytest.raises(KernelError) as raised:
        nvcc_compiler.compile_for_gpu(program_of(write_kernel(source)), "sm_90")
    message = str(raised.value)
    assert message.startswith(f"does not compile: {place}")
    assert words in message and "\n" not in message
    # A failure is cached, except that a missing header may exist the next time.
    assert len(made_in(own_cache)) == ("no_such.h" not in words)
    with pytest.raises(KernelError, match=re.escape(message)):
        nvcc_compiler.compile_for_gpu(program_of(write_kernel(source)), "sm_90")
    # nvcc's own count of errors and the source line that it shows are not counted as errors.
    assert "more)" not in message


def test_several_errors_are_counted(write_kernel: WriteKernel) -> None:
    source = "__global__ void k(float *C) {\n    C[0] = one;\n    C[1] = two;\n    C[2] = three;\n}\n"
    with pytest.raises(KernelError, match=r"kernel\.cu\(2\).*one.*\(and 2 more\)$"):
        nvcc_compiler.compile_for_gpu(program_of(write_kernel(source)), "sm_90")


def test_kernels_in_namespaces_and_templates_are_found(write_kernel: WriteKernel) -> None:
    inner = write_kernel("namespace outer { namespace inner {\n" + PLAIN + "}}\n")
    compiled = nvcc_compiler.compile_for_gpu(program_of(inner), "sm_90")
    assert compiled.kernel == "_ZN5outer5inner1kEPf"
    template = write_kernel(
        "namespace inner { template <class T, int SIDE> __global__ void k(T *C) { C[0] = SIDE; } }\n"
    )
    compiled = nvcc_compiler.compile_for_gpu(program_of(template, "k<float, 32>"), "sm_90")
    assert compiled.kernel == "_ZN5inner1kIfLi32EEEvPT_"


def test_two_kernels_of_one_name_are_an_error(write_kernel: WriteKernel) -> None:
    path = write_kernel(PLAIN + PLAIN.replace("float", "double"))
    with pytest.raises(KernelError, match=r"_Z1kPd.*_Z1kPf"):
        nvcc_compiler.compile_for_gpu(program_of(path), "sm_90")


def test_a_file_name_may_be_invalid_unicode(tmp_path: Path) -> None:
    path = Path(os.fsdecode(bytes(tmp_path) + b"/k\xff.cu"))
    path.write_text(PLAIN)
    assert nvcc_compiler.compile_for_gpu(program_of(path), "sm_90").kernel == "_Z1kPf"


@pytest.mark.slow
def test_a_changed_nvcc_variable_compiles_a_kernel_again(
    write_kernel: WriteKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def registers() -> int:
        cubin = nvcc_compiler.compile_for_gpu(program_of(path, "greedy"), "sm_90")
        return cubin.resources.registers_per_thread

    path = write_kernel(GREEDY)
    assert registers() > 64
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-maxrregcount=64")
    assert registers() <= 64


@pytest.mark.parametrize("compiler", ["missing", "too new"])
def test_a_host_compiler_that_nvcc_cannot_use_is_no_error_of_the_kernel(
    write_kernel: WriteKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    nvcc_compiler.nvcc()
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("gcc", "g++") if compiler == "too new" else ():
        (folder / name).write_text(f'#!/bin/sh\nexec {shutil.which(name)} -U__GNUC__ -D__GNUC__=99 "$@"\n')
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}" if compiler == "too new" else str(folder))
    with pytest.raises(NoDeviceError, match=r"nvcc does not work: .*(gcc|host compiler|GNU)"):
        nvcc_compiler.compile_for_gpu(program_of(write_kernel(f"// {compiler}\n{PLAIN}")), "sm_90")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("", "--list-gpu-code names no architecture"),
        ("echo garbage", "--list-gpu-code names no architecture"),
        ("exit 1", "ended with status 1: no output"),
        ("echo sm_80", "names no CUDA release"),
    ],
)
def test_an_nvcc_that_prints_nothing_useful_is_refused(tmp_path, monkeypatch, script, words):
    fake = tmp_path / "nvcc"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr("cudamm.compile.nvcc_compiler.find_nvcc", lambda: fake)
    with pytest.raises(NoDeviceError, match=words):
        nvcc_compiler.nvcc.__wrapped__()


@pytest.mark.parametrize("image", [b"", b"garbage", b"\x7fELF\x02", b"\x7fELF\x02" + b"\xff" * 100])
def test_a_damaged_object_file_is_an_error_of_its_row(image):
    with pytest.raises(KernelError, match=r"the compiler made (no|a damaged) object file"):
        check_elf(image)
