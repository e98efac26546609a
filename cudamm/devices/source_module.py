"""Compile kernels with PyCUDA, and load them with its `SourceModule`.

`SourceModule` compiles a source if PyCUDA's cache does not contain its cubin, and loads the cubin. cudamm
fills the cache in advance with `pycuda.compiler.compile`, which needs no GPU and runs on all cores
(`compile_all`). In the process that owns the GPU, `SourceModule` then only loads the cubin from the cache.
"""

from __future__ import annotations

import dataclasses
import locale
import re
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cudamm.compile.compile_cache import cached_folder
from cudamm.compile.compiler_process import compile_failure, run_in_folder, run_to_end
from cudamm.compile.nvcc_compiler import (
    Cubin,
    is_lasting,
    made_from,
    nvcc,
    nvcc_options,
    refuse_broken_nvcc,
)
from cudamm.compile.program import Program
from cudamm.compile.resources import find_kernel
from cudamm.compile.toolkit import find_nvcc
from cudamm.errors import KernelError

_FAILURE = "failure.txt"


@dataclass(frozen=True)
class ModuleSource:
    """The source of a `SourceModule`, and the arguments to compile it with.

    Attributes:
        cache_dir: a cache folder of PyCUDA that contains the cubin of this source and nothing else.
    """

    source: str
    nvcc: str
    options: tuple[str, ...]
    arch: str
    cache_dir: str = ""

    def load(self) -> Any:
        """Return the `SourceModule`, loaded into the current context."""
        from pycuda.compiler import SourceModule

        return SourceModule(**self._arguments())

    def compiled(self, made_from: Sequence[str], *, keep_failure: bool = True) -> ModuleSource:
        """Compile this source, or find its cubin in the cache; return the source with the cubin's folder.

        Args:
            made_from: everything that the cubin depends on.
            keep_failure: if the source does not compile, cache the error.

        Raises:
            KernelError: the source does not compile.
            NoDeviceError: nvcc does not work, or the disk is full.
        """

        def compile_into(folder: Path) -> None:
            from pycuda.compiler import compile as compile_with_pycuda
            from pycuda.driver import CompileError
            from pytools import prefork

            prefork.forker = _Forker()
            try:
                image = compile_with_pycuda(**self._arguments() | {"cache_dir": str(folder)})
            except CompileError as error:
                _remove_leftovers(error.msg)
                failure = compile_failure(self.nvcc, error.stderr or "")
                refuse_broken_nvcc(failure)
                if not (keep_failure and is_lasting(failure)):
                    raise failure from None
                (folder / _FAILURE).write_text(str(failure), encoding="utf-8", errors="replace")
            else:
                if not any(folder.iterdir()):  # with $PYCUDA_DISABLE_CACHE, PyCUDA compiles again to load
                    (folder / "kernel.cubin").write_bytes(image)

        folder = cached_folder([*made_from, "SourceModule"], compile_into)
        if (folder / _FAILURE).exists():
            raise KernelError((folder / _FAILURE).read_text(encoding="utf-8"))
        return dataclasses.replace(self, cache_dir=str(folder))

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments of `SourceModule` by their names.

        `#include` is replaced by `# include`: at each load PyCUDA runs nvcc's preprocessor on a source that
        contains `#include`, to see whether a header has changed. This is not needed, because the name of the
        cache's folder already depends on the user's headers and on nvcc's version. The source
        is limited to characters of the locale's encoding, in which PyCUDA writes its files.
        """
        encoding = locale.getpreferredencoding(False)
        source = self.source.replace("#include", "# include").encode(encoding, "replace").decode(encoding)
        return {
            "source": source,
            "nvcc": self.nvcc,
            "options": list(self.options),
            "arch": self.arch,
            "cache_dir": self.cache_dir,
            "no_extern_c": True,
        }


@dataclass(frozen=True)
class ModuleImage:
    """A cubin that is loaded as it is, without nvcc and without PyCUDA's cache."""

    image: bytes = field(repr=False)

    def load(self) -> Any:
        """Return PyCUDA's module, loaded into the current context."""
        from pycuda.driver import module_from_buffer

        return module_from_buffer(self.image)


@dataclass(frozen=True)
class CompiledSource(Cubin):
    """A program that is compiled for PyCUDA to load."""

    module: ModuleSource | ModuleImage


def compile_source(program: Program, arch: str) -> CompiledSource:
    """Compile a program for an architecture such as `sm_90`, or take it from the cache.

    Raises:
        KernelError: the program does not compile; the message has the file's own line numbers.
        NoDeviceError: there is no nvcc, or it cannot compile for that architecture.
    """
    target, options = nvcc_options(program, arch)
    source = ModuleSource(program.text, str(nvcc().path), tuple(options), target)
    # If a header is wrong, the user may correct the header, so the error must not be cached.
    source = source.compiled(made_from(program, arch), keep_failure=not program.may_include)
    image = next(Path(source.cache_dir).glob("*.cubin")).read_bytes()
    kernel = find_kernel(image, program.entry)
    return CompiledSource(image, arch, kernel, source)


def prepare_to_load() -> None:
    """Import PyCUDA's compiler and read nvcc's version, which the first `SourceModule` would do otherwise."""
    from pycuda import characterize, compiler

    characterize.platform_bits()
    path = find_nvcc()
    if path is not None:  # without nvcc no kernel is compiled or loaded
        compiler.get_nvcc_version(str(path))


class _Forker:
    """Runs the commands of PyCUDA in this process, in the place of the class of that name in `pytools`."""

    def call_capture_output(
        self, command: Sequence[str], folder: str | None = None, error_on_nonzero: bool = True
    ) -> tuple[int, bytes, bytes]:
        """Run a command as cudamm runs its compilers: see `process_group`."""
        try:
            completed = run_to_end(command) if folder is None else run_in_folder(command, "", Path(folder))
        except BaseException:
            if folder is not None:  # PyCUDA has made it, and does not remove it after an error
                shutil.rmtree(folder, ignore_errors=True)
            raise
        if error_on_nonzero and completed.returncode != 0:
            raise OSError(f"{command[0]} ended with status {completed.returncode}")
        stdout, stderr = (s.encode(errors="surrogateescape") for s in (completed.stdout, completed.stderr))
        return completed.returncode, stdout, stderr


def _remove_leftovers(message: str) -> None:
    """Remove the temporary folder that PyCUDA leaves if nvcc fails; PyCUDA's message contains its path."""
    named = re.search(r"nvcc compilation of (\S+)/kernel\.cu failed", message)
    if named:
        shutil.rmtree(named[1], ignore_errors=True)


# If a program compiles, PyCUDA prints the messages of nvcc as warnings.
warnings.filterwarnings("ignore", "The CUDA compiler succeeded")
warnings.filterwarnings("ignore", "nvcc said it demoted types")
