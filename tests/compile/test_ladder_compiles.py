"""nvcc compiles every method for a GPU. No GPU is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudamm.compile.compile_all import compile_all
from cudamm.compile.nvcc_compiler import Cubin, compile_for_gpu
from cudamm.compile.program import Program, program
from cudamm.compile.toolkit import find_nvcc, include_options, run_nvcc
from cudamm.devices.own_module import CEILINGS, PEAKS, SUPPORT, OwnModule, fresh_inputs_module
from cudamm.errors import KernelError
from cudamm.kernels.ladder import methods
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.variant import variants

KERNELS = [method for method in methods() if method.language == "cuda"]


def compile_one(program: Program) -> Cubin:
    """Compile for sm_90, the one architecture that all methods compile for; with its own code if needed."""
    return compile_for_gpu(program, "sm_90")


@pytest.fixture(scope="module")
def compiled(request: pytest.FixtureRequest, needs_nvcc: None) -> dict[str, Cubin | KernelError]:
    """Compile the methods of all selected tests, at their default parameters, on all cores."""
    selected = {
        item.callspec.params.get("name")
        for item in request.session.items
        if item.path == request.path and isinstance(item, pytest.Function) and hasattr(item, "callspec")
    }
    programs = []
    for method in [method for method in KERNELS if method.name in selected]:
        (default,) = variants(method, {})
        programs.append(program(default, ELEMENT_TYPES[method.element_types[0]], fmad=True))
    return {
        source.method.name: cubin_or_error
        for source, cubin_or_error in compile_all(programs, compile_one).items()
    }


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", [method.name for method in KERNELS])
def test_a_method_compiles_and_spills_no_register(
    compiled: dict[str, Cubin | KernelError], name: str
) -> None:
    cubin = compiled[name]
    assert isinstance(cubin, Cubin), cubin
    assert cubin.resources.spill_store_bytes == cubin.resources.spill_load_bytes == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "arch"),
    [
        (SUPPORT, "sm_90"),
        *((fresh_inputs_module(element), "sm_90") for element in ELEMENT_TYPES.values()),
        (CEILINGS, "sm_75"),
        (PEAKS, "sm_90a"),
        (PEAKS, "sm_75"),
    ],
)
def test_the_gpu_devices_own_kernels_compile(
    needs_nvcc: None, module: OwnModule, arch: str, tmp_path: Path
) -> None:
    nvcc = find_nvcc()
    assert nvcc is not None
    cubin, source = tmp_path / "kernels.cubin", tmp_path / "kernels.cu"
    source.write_text(module.text)
    run_nvcc(
        nvcc, "-cubin", f"-arch={arch}", *module.macros, *include_options(nvcc), "-o", str(cubin), str(source)
    )
    assert cubin.read_bytes().startswith(b"\x7fELF")
