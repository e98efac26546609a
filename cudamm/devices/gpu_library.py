"""Run a method that calls a library on the GPU; calls of the library are queued like launches."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from cudamm.errors import KernelError
from cudamm.kernels.launch_plan import Launch
from cudamm.kernels.method import Method

DEFAULT_STREAM = 0
"""Stream of all launches, which is held while a sample is queued."""


@dataclass(frozen=True)
class LibraryFunction:
    """A method that calls a library, and needs no compiling."""

    name: str
    path: Path


def missing_package(method: Method) -> str:
    """Return a message if the Python package of a method's library is not installed; else empty."""
    if package_version(method):
        return ""
    return (
        f"{method.name} needs {method.package}, which is not installed (run make setup, "
        f"or pip install {method.package})"
    )


def package_version(method: Method) -> str:
    """Return the version of the Python package of a method's library; empty if it is not installed.

    The package is not imported, because a library may take seconds to load.
    """
    try:
        return importlib.metadata.version(method.package)
    except importlib.metadata.PackageNotFoundError:
        return ""


class Library:
    """A library's handle and workspace in the current context."""

    def __init__(self, cuda: Any, function: LibraryFunction) -> None:
        """Load the library.

        Raises:
            KernelError: the library cannot be loaded, or device memory has no room for its workspace.
        """
        self._cuda, self._name = cuda, function.name
        try:
            self._module = _loaded(function.path)
        except (ImportError, OSError, RuntimeError) as error:
            raise KernelError(f"{function.name} cannot be loaded: {_line(error)}") from None
        try:
            self._workspace = cuda.mem_alloc(self._module.WORKSPACE_BYTES)
        except cuda.Error as error:
            raise KernelError(f"no device memory for the workspace of {function.name}: {error}") from None
        try:
            self._handle: Any = self._module.create(DEFAULT_STREAM, int(self._workspace))
        except ValueError as error:
            self._workspace.free()
            raise KernelError(f"{function.name} cannot be used: {_line(error)}") from None
        except self._failures as error:
            self._workspace.free()
            raise KernelError(
                f"{function.name} cannot be used: {_line(error)}; install the library with the CUDA "
                "toolkit, or with pip install nvidia-cublas"
            ) from None

    @property
    def _failures(self) -> tuple[type[Exception], ...]:
        """The library's exceptions, and RuntimeError, which its bindings raise if the library is missing."""
        return (self._module.Failure, RuntimeError)

    def product(self, element: str) -> LibraryProduct:
        """Return the library's product of matrices of an element type."""
        return LibraryProduct(self, element)

    def enqueue(self, arguments: list[int | float | bytes], element: str) -> None:
        """Queue one product. Raises KernelError if the library reports an error."""
        try:
            self._module.matmul(self._handle, *arguments, element)
        except self._failures as error:
            raise KernelError(f"{self._name} failed: {_line(error)}") from None

    def close(self) -> None:
        """Free the handle and the workspace; after a crashed kernel the driver refuses, which is ignored."""
        with contextlib.suppress(*self._failures):
            self._module.destroy(self._handle)
        with contextlib.suppress(self._cuda.Error):
            self._workspace.free()


class LibraryProduct:
    """A library's product of matrices of one element type, with the interface of a loaded kernel."""

    def __init__(self, library: Library, element: str) -> None:
        self._library, self._element = library, element

    def arguments(self, launch: Launch, addresses: Mapping[str, int]) -> list[int | float | bytes]:
        """Return M, N, K and the addresses of A, B and C."""
        shape = launch.shape
        return [shape.m, shape.n, shape.k, addresses["A"], addresses["B"], addresses["C"]]

    def enqueue(self, launch: Launch, arguments: list[int | float | bytes]) -> None:
        """Queue one product; the library chooses grid and block."""
        self._library.enqueue(arguments, self._element)


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"cudamm_library_{path.stem}", path)
    assert spec is not None and spec.loader is not None  # noqa: S101 - a .py file always has them
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _line(error: Exception) -> str:
    """Return an error's message on one line."""
    return " ".join(str(error).split()) or type(error).__name__
