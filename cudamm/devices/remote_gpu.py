"""A GPU of another host, for which this machine compiles: it needs nvcc, but neither a driver nor PyCUDA."""

from __future__ import annotations

from typing import Any

from cudamm.compile.nvcc_compiler import NvccRun, check_driver, compile_for_gpu, compile_with_nvcc
from cudamm.compile.process_group import CORES
from cudamm.compile.program import Program
from cudamm.devices.device import DeviceInfo
from cudamm.devices.gpu_device import GpuTarget
from cudamm.devices.gpu_library import LibraryFunction
from cudamm.devices.source_module import CompiledSource, ModuleImage
from cudamm.kernels.architecture import Architecture
from cudamm.kernels.launch_plan import Limits


class RemoteGpuTarget(GpuTarget):
    """The properties of a GPU of another host; its compiled programs need no file of this machine."""

    def __init__(
        self,
        info: DeviceInfo,
        limits: Limits,
        architecture: Architecture,
        run: NvccRun = compile_with_nvcc,
        compile_threads: int = CORES,
    ) -> None:
        """Create a target.

        Args:
            run: compiles a program that the cache does not have.
            compile_threads: number of programs that `run` compiles at once.
        """
        super().__init__(info, limits, architecture)
        self.compile_threads = compile_threads
        self._run = run

    def __getstate__(self) -> dict[str, Any]:
        # A case takes its target to the host of the GPU, where nothing is compiled.
        return {**self.__dict__, "_run": compile_with_nvcc}

    def compile(self, program: Program) -> CompiledSource | LibraryFunction:
        """Compile a program for this GPU's architecture; a library's method needs no compiling.

        Raises:
            KernelError: the program does not compile.
            NoDeviceError: nvcc cannot be used, or the GPU's driver is too old for programs of this nvcc.
        """
        if program.method.package:
            return LibraryFunction(program.method.name, program.method.path)
        major, minor = map(int, str(self.info.properties["driver_cuda"]).split("."))
        check_driver((major, minor))
        made = compile_for_gpu(program, self.arch, self._run)
        return CompiledSource(made.image, made.arch, made.kernel, ModuleImage(made.image))
