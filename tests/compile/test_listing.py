"""Listings of PTX and machine code, against nvcc and nvdisasm; and the search for nvdisasm."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cudamm.compile import listing, nvcc_compiler, toolkit
from cudamm.compile.listing import Listing
from cudamm.compile.program import Program, program
from cudamm.errors import NoDeviceError
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.variant import Variant, variants

WriteKernel = Callable[..., Path]

# Calls by name and by pointer, another kernel, assembly with two statements on a line, three barriers.
CALLS = """\
__device__ __noinline__ float twice(float x) { return x / 3; }
__device__ __noinline__ float thrice(float x) { return x / 7; }
__device__ float (*pointers[2])(float) = {thrice, thrice};
__global__ void other(float *C) { C[0] = sqrtf(C[1]); }
__global__ void mine(float *C, int n) {
    __syncthreads();
    C[0] = twice(C[1]) + pointers[n](C[2]);
    __syncthreads();
    asm volatile("{ .reg .u32 t; membar.gl; membar.sys; }");
    if (n > 7) __trap();
    __syncthreads();
}
"""

# Output of nvdisasm of CUDA 13 for a cubin with two kernels for sm_90, shortened.
DISASSEMBLED = """\
	.target	sm_90

	.elftype	@"ET_EXEC"


//--------------------- .text._Z5otherPf          --------------------------
	.section	.text._Z5otherPf,"ax",@progbits
_Z5otherPf:
.text._Z5otherPf:
        /*0000*/                   MUFU.RSQ R5, R1 ;
        /*0010*/                   EXIT ;


//--------------------- .text._Z4minePfi          --------------------------
	.section	.text._Z4minePfi,"ax",@progbits
	.align	128
        .global         _Z4minePfi
_Z4minePfi:
.text._Z4minePfi:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_0) ;
        /*0020*/                   IMAD.WIDE R20, R7.reuse, 0x4, R20 ;
        /*0030*/              @UP1 UIADD3 UR6, UR4, 0x400, URZ ;
.L_x_0:
        /*0040*/                   NOP;
        /*0050*/                   EXIT ;
.L_x_1:
        /*0060*/                   BRA `(.L_x_1);
        /*0070*/                   NOP;
        /*0080*/                   NOP;
.L_x_4:


//--------------------- SYMBOLS --------------------------

	.type		.nv.reservedSmem.offset0,@object
"""


def opcodes_of(result: Listing) -> list[str]:
    return [line.opcode for line in result.lines if line.opcode]


def program_of(path: Path, entry: str = "mine", fmad: bool = True) -> Program:
    method = read_method(path, Overrides({"threads": "1", "grid": "1", "entry": entry}))
    return program(Variant(method, ()), ELEMENT_TYPES["float32"], fmad)


def ladder_program(name: str, fmad: bool = True, **values: int) -> Program:
    (variant,) = variants(find(name), {name: (value,) for name, value in values.items()})
    return program(variant, ELEMENT_TYPES["float32"], fmad)


@pytest.fixture
def real_nvdisasm(needs_nvcc: None) -> Path:
    """Return the path of NVIDIA's nvdisasm."""
    found = toolkit.find_nvdisasm(nvcc_compiler.nvcc().path)
    if found is None:
        pytest.skip("nvdisasm was not found: pip install nvidia-cuda-nvdisasm")
    assert found is not None
    return found


@pytest.fixture
def made_up_nvdisasm(needs_nvcc: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace nvdisasm by a program that prints DISASSEMBLED for any cubin."""
    path = tmp_path / "nvdisasm"
    (tmp_path / "printed").write_text(DISASSEMBLED)
    path.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo release 13.0 && exit\n'
        f'for image; do :; done\nhead -c 4 "$image" | grep -q ELF && exec cat {tmp_path}/printed\nexit 9\n'
    )
    path.chmod(0o755)
    monkeypatch.setattr(listing, "find_nvdisasm", lambda nvcc: path)
    return path


@pytest.mark.usefixtures("needs_nvcc")
class TestPtx:
    def test_ptx_is_what_nvcc_writes(self, write_kernel: WriteKernel, tmp_path: Path) -> None:
        path = write_kernel(CALLS)
        result = listing.ptx(program_of(path), "sm_80")
        expected = tmp_path / "expected.ptx"
        subprocess.run([nvcc_compiler.nvcc().path, "-arch=sm_80", "--ptx", "-o", expected, path], check=True)
        assert result.text == expected.read_text()
        assert (result.kind, result.arch, result.kernel) == ("ptx", "sm_80", "_Z4minePfi")

    def test_instructions_are_those_of_the_kernel_and_its_callees(self, write_kernel: WriteKernel) -> None:
        found = Counter(opcodes_of(listing.ptx(program_of(write_kernel(CALLS)), "sm_80")))
        assert found["bar.sync"] == 3
        assert found["call.uni"] + found["call"] == 2
        assert (found["membar.gl"], found["membar.sys"], found["trap"]) == (1, 1, 1)
        assert found["ret"] == 2  # the kernel's, and that of twice, which is called by name
        assert found["div.rn.f32"] == 1
        assert not any(opcode.startswith("sqrt") for opcode in found)
        # No directive, label, predicate or prototype is counted as an instruction.
        assert all(re.fullmatch(r"[a-z][a-z0-9]*(\.[a-z0-9:]+)*", opcode) for opcode in found), found

    @pytest.mark.slow
    def test_every_statement_of_the_ladders_kernels_is_counted(self) -> None:
        for name in ("naive", "tiled", "register-tile"):
            result = listing.ptx(ladder_program(name), "sm_90")
            body = result.text[result.text.index("\n{\n") :]
            statements = [
                line
                for line in body.splitlines()
                if line.rstrip().endswith(";") and not line.strip().startswith(".")
            ]
            assert len(opcodes_of(result)) == len(statements) > 20, name

    def test_naive_and_coalesced_have_the_same_instructions(self) -> None:
        # CMU 15-418, recitation 2: the hardware coalesces, not the compiler.
        naive, coalesced = (listing.ptx(ladder_program(name), "sm_90") for name in ("naive", "coalesced"))
        assert opcodes_of(naive) == opcodes_of(coalesced)
        assert opcodes_of(naive) != opcodes_of(listing.ptx(ladder_program("tiled"), "sm_90"))
        differing = {
            (ours.text, theirs.text)
            for ours, theirs in zip(naive.lines, coalesced.lines, strict=True)
            if ours.compared != theirs.compared
        }
        # Only the instructions that read the thread's position differ.
        assert len(differing) == 4
        assert all(re.search(r"%(ctaid|tid)\.[xy]", line) for lines in differing for line in lines)

    @pytest.mark.slow
    def test_without_fmad_nothing_is_fused(self) -> None:
        fused, unfused = (
            opcodes_of(listing.ptx(ladder_program("naive", fmad=f), "sm_90")) for f in (True, False)
        )
        assert "fma.rn.f32" in fused and "fma.rn.f32" not in unfused
        assert "mul.f32" in unfused or "mul.rn.f32" in unfused

    def test_ptx_is_compiled_once_for_each_architecture(self, compiler_calls: list[list[str]]) -> None:
        first = listing.ptx(ladder_program("naive"), "sm_90")
        calls = len(compiler_calls)
        assert listing.ptx(ladder_program("naive"), "sm_90") == first
        assert len(compiler_calls) == calls
        assert listing.ptx(ladder_program("naive"), "sm_80").text != first.text


class TestSass:
    def test_sass_is_the_kernels_part_of_nvdisasms_output(
        self, made_up_nvdisasm: Path, write_kernel: WriteKernel
    ) -> None:
        result = listing.sass(program_of(write_kernel(CALLS)), "sm_80")
        assert result.text.startswith("//--------------------- .text._Z4minePfi")
        assert "MUFU" not in result.text and "SYMBOLS" not in result.text
        # The NOPs after the last branch pad the section; the one before it is the compiler's.
        assert opcodes_of(result) == ["LDC", "BRA", "IMAD.WIDE", "UIADD3", "NOP", "EXIT", "BRA"]
        assert [line.text.strip() for line in result.lines if not line.opcode] == [".L_x_0:", ".L_x_1:"]
        assert [line.compared for line in result.lines[1:4]] == [
            "@!P BRA `(.L)",
            "IMAD.WIDE R, R, 0x4, R",
            "@UP UIADD3 UR, UR, 0x400, URZ",
        ]

    def test_sass_is_disassembled_once(self, made_up_nvdisasm: Path, write_kernel: WriteKernel) -> None:
        source = program_of(write_kernel(CALLS))
        first = listing.sass(source, "sm_80")
        (made_up_nvdisasm.parent / "printed").unlink()
        assert listing.sass(source, "sm_80") == first

    def test_an_nvdisasm_that_cannot_read_the_code_is_reported(
        self, made_up_nvdisasm: Path, write_kernel: WriteKernel
    ) -> None:
        made_up_nvdisasm.write_text(
            '#!/bin/sh\n[ "$1" = --version ] && echo 9 && exit\necho "nvdisasm fatal : no SM90" >&2; exit 1\n'
        )
        with pytest.raises(NoDeviceError, match=r"cannot read code for sm_80 \(nvdisasm fatal : no SM90\)"):
            listing.sass(program_of(write_kernel(CALLS)), "sm_80")

    def test_without_nvdisasm_the_message_names_the_package(
        self, needs_nvcc: None, monkeypatch: pytest.MonkeyPatch, write_kernel: WriteKernel
    ) -> None:
        monkeypatch.setattr(listing, "find_nvdisasm", lambda nvcc: None)
        with pytest.raises(NoDeviceError, match="pip install nvidia-cuda-nvdisasm"):
            listing.sass(program_of(write_kernel(CALLS)), "sm_80")

    @pytest.mark.slow
    def test_naive_and_coalesced_have_the_same_opcodes(self, real_nvdisasm: Path) -> None:
        naive, coalesced = (
            Counter(opcodes_of(listing.sass(ladder_program(name), "sm_90")))
            for name in ("naive", "coalesced")
        )
        assert naive == coalesced
        assert all(naive[opcode] > 0 for opcode in ("LDG.E", "FFMA", "STG.E", "BRA"))

    @pytest.mark.slow
    def test_sass_contains_barriers_and_fused_multiply_adds(
        self, real_nvdisasm: Path, write_kernel: WriteKernel
    ) -> None:
        found = Counter(opcodes_of(listing.sass(program_of(write_kernel(CALLS)), "sm_80")))
        assert sum(count for opcode, count in found.items() if opcode.startswith("BAR.SYNC")) == 3
        unfused = opcodes_of(listing.sass(ladder_program("naive", fmad=False), "sm_90"))
        assert "FFMA" not in unfused and "FMUL" in unfused and "FADD" in unfused


class TestFindingNvdisasm:
    @pytest.fixture(autouse=True)
    def bare_machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Hide the toolkits of the machine that runs the tests."""
        monkeypatch.setenv("PATH", "/nonexistent")
        for variable in toolkit.TOOLKIT_VARIABLES:
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setattr(toolkit, "INSTALLED_TOOLKIT", tmp_path / "usr-local-cuda")
        monkeypatch.setattr(toolkit.sysconfig, "get_path", lambda name: str(tmp_path / name))

    def make(self, *folders: Path) -> list[Path]:
        result = [folder / "nvdisasm" for folder in folders]
        for path in result:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("#!/bin/sh\n")
            path.chmod(0o755)
        return result

    def test_a_bare_machine_has_no_nvdisasm(self, tmp_path: Path) -> None:
        assert toolkit.find_nvdisasm(None) is None
        assert toolkit.find_nvdisasm(tmp_path / "toolkit" / "bin" / "nvcc") is None

    def test_each_place_is_preferred_to_those_after_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # nvcc is a script that calls the nvcc of another folder, as in some distributions.
        nvcc = tmp_path / "usr-bin" / "nvcc"
        places = self.make(
            nvcc.parent,
            tmp_path / "toolkit" / "bin",
            tmp_path / "path",
            tmp_path / "home" / "bin",
            tmp_path / "usr-local-cuda" / "bin",
            tmp_path / "purelib" / "nvidia" / "cu14" / "bin",
            tmp_path / "platlib" / "nvidia" / "cu13" / "bin",
        )
        nvcc.write_text(f"#!/bin/sh\necho '#$ TOP={tmp_path}/toolkit'\n")
        nvcc.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}/path:/usr/bin:/bin")
        monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
        for place in places:
            assert toolkit.find_nvdisasm(nvcc) == place
            place.unlink()
        assert toolkit.find_nvdisasm(nvcc) is None

    def test_a_file_that_cannot_be_executed_is_ignored(self, tmp_path: Path) -> None:
        first, second = self.make(
            tmp_path / "usr-local-cuda" / "bin", tmp_path / "purelib" / "nvidia" / "cu13" / "bin"
        )
        first.chmod(0o644)
        assert toolkit.find_nvdisasm(None) == second
