"""A GPU of another host, for which this machine compiles: it needs nvcc, but neither a driver nor PyCUDA."""

from __future__ import annotations

from cudamm.compile.nvcc_compiler import check_driver, compile_for_gpu
from cudamm.compile.program import Program
from cudamm.devices.gpu_device import GpuTarget
from cudamm.devices.gpu_library import LibraryFunction
from cudamm.devices.source_module import CompiledSource, ModuleImage


class RemoteGpuTarget(GpuTarget):
    """The properties of a GPU of another host; its compiled programs need no file of this machine."""

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
        made = compile_for_gpu(program, self.arch)
        return CompiledSource(made.image, made.arch, made.kernel, ModuleImage(made.image))
