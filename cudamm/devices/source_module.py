"""Compiles kernels with PyCUDA on all cores, and loads them as `SourceModule`s.

`SourceModule` compiles a program if PyCUDA's cache lacks it, and loads it. cudamm fills that cache ahead with
`pycuda.compiler.compile`, which needs no GPU and can run on every core. In the process that owns the GPU,
`SourceModule` then only reads the cache and loads.
"""

from __future__ import annotations

import dataclasses
import locale
import re
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudamm.compile.compile_cache import cached_folder
from cudamm.compile.nvcc_compiler import Cubin, compile_for_gpu, identity, is_lasting, nvcc, nvcc_options
from cudamm.compile.program import Program
from cudamm.compile.resources import find_kernel
from cudamm.errors import KernelError

_FAILURE = "failure.txt"


@dataclass(frozen=True)
class CachedSource:
    """A source with the arguments that `SourceModule` compiles it with.

    Attributes:
        cache_dir: a cache of PyCUDA's that holds the cubin of this source alone.
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

    def compiled(self, made_from: Sequence[str], explain: Callable[[], KernelError]) -> CachedSource:
        """Return this source with a cache that holds its cubin.

        Args:
            made_from: all that the cubin depends on.
            explain: returns why the source does not compile.

        Raises:
            KernelError: the source does not compile.
        """

        def compile_into(folder: Path) -> None:
            from pycuda.compiler import compile as compile_with_pycuda
            from pycuda.driver import CompileError

            try:
                compile_with_pycuda(**self._arguments() | {"cache_dir": str(folder)})
            except CompileError as error:
                _remove_leftovers(str(error))
                failure = explain()
                if not is_lasting(failure):
                    raise failure from None
                (folder / _FAILURE).write_text(str(failure), encoding="utf-8", errors="replace")

        folder = cached_folder([*made_from, "SourceModule"], compile_into)
        if (folder / _FAILURE).exists():
            raise KernelError((folder / _FAILURE).read_text(encoding="utf-8"))
        return dataclasses.replace(self, cache_dir=str(folder))

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments by their names.

        PyCUDA writes a source in the locale's encoding. It runs nvcc's preprocessor over a source that
        contains `#include` at every load, to see whether a header has changed; that takes half a second. The
        cache's folder already depends on every header, so the directive is written as `# include`.
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
class CompiledSource(Cubin):
    """A program that PyCUDA has compiled."""

    cached: CachedSource


def compile_source(program: Program, arch: str) -> CompiledSource:
    """Compile a program for an architecture such as `sm_90`, or take it from the cache.

    Raises:
        KernelError: the program does not compile; the message has the file's own line numbers.
        NoDeviceError: there is no nvcc, or it cannot compile for that architecture.
    """

    def explain() -> KernelError:
        # PyCUDA keeps neither nvcc's status nor what killed it: nvcc alone is asked for the reason.
        try:
            compile_for_gpu(program, arch)
        except KernelError as failure:
            if program.include_folder:
                raise  # the file that it includes may be mended next time
            return failure
        raise KernelError("PyCUDA failed to compile what nvcc compiles: try again")

    target, options = nvcc_options(program, arch)
    source = CachedSource(program.text, str(nvcc().path), tuple(options), target)
    source = source.compiled(identity(program, arch), explain)
    image = next(Path(source.cache_dir).glob("*.cubin")).read_bytes()
    kernel = find_kernel(image, program.method.entry)
    return CompiledSource(image, arch, kernel, source)


def _remove_leftovers(message: str) -> None:
    """Remove the temporary folder that PyCUDA names, and leaves behind, if nvcc fails."""
    named = re.search(r"nvcc compilation of (\S+)/kernel\.cu failed", message)
    if named:
        shutil.rmtree(named[1], ignore_errors=True)


# PyCUDA repeats as a warning whatever nvcc prints about a program that compiles.
warnings.filterwarnings("ignore", "The CUDA compiler succeeded")
warnings.filterwarnings("ignore", "nvcc said it demoted types")
