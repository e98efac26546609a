"""Launch a kernel that may start before the previous kernel of its stream is complete.

CUDA C++ Programming Guide, programmatic dependent launch. PyCUDA cannot ask for it, and it does not give the
handles of its modules and functions either. So the driver is called through ctypes, and the kernel's image is
loaded a second time.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

from cudamm.kernels.launch_plan import Launch

# From cuda.h: CUfunction_attribute, CUlaunchAttributeID, and the keys of cuLaunchKernel's array `extra`.
MAX_DYNAMIC_SHARED_BYTES = 8
PROGRAMMATIC_STREAM_SERIALIZATION = 6
END, BUFFER_POINTER, BUFFER_SIZE = 0, 1, 2


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute, whose value is a union of 64 bytes."""

    _fields_ = (
        ("id", ctypes.c_int),
        ("pad", ctypes.c_int),
        ("value", ctypes.c_int),
        ("rest", ctypes.c_char * 60),
    )


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("attribute_count", ctypes.c_uint),
    )


class DependentKernel:
    """A kernel loaded into the current context, whose launches may start early."""

    def __init__(self, cuda: Any, image: bytes, name: str, shared_bytes: int) -> None:
        """Load the kernel.

        Args:
            cuda: PyCUDA's module of the driver.
            image: the cubin.
            name: the kernel's name there.
            shared_bytes: dynamic shared memory per block.

        Raises:
            cuda.Error: the driver refuses.
        """
        self._cuda = cuda
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._attribute = _Attribute(PROGRAMMATIC_STREAM_SERIALIZATION, 0, 1, b"")
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(self._module), image)
        # Without a context, or after a crash, the driver refuses, and has nothing to unload.
        weakref.finalize(self, self._driver.cuModuleUnload, self._module).atexit = False
        self._call("cuModuleGetFunction", ctypes.byref(self._function), self._module, name.encode())
        self._call("cuFuncSetAttribute", self._function, MAX_DYNAMIC_SHARED_BYTES, shared_bytes)

    def get_global(self, name: str) -> tuple[int, int]:
        """Return address and size in bytes of a global variable, as PyCUDA's `Module.get_global` does.

        Raises:
            cuda.Error: there is none of this name.
        """
        address, size_bytes = ctypes.c_uint64(), ctypes.c_size_t()
        places = ctypes.byref(address), ctypes.byref(size_bytes)
        self._call("cuModuleGetGlobal_v2", *places, self._module, name.encode())
        return address.value, size_bytes.value

    def enqueue(self, launch: Launch, arguments: bytes) -> None:
        """Queue one launch on the default stream.

        Args:
            arguments: the kernel's arguments, as they lie in memory.

        Raises:
            cuda.Error: the driver refuses.
        """
        config = _Config(
            launch.grid, launch.block, launch.shared_bytes, None, ctypes.pointer(self._attribute), 1
        )
        buffer, size = ctypes.create_string_buffer(arguments), ctypes.c_size_t(len(arguments))
        extra = (ctypes.c_void_p * 5)(
            BUFFER_POINTER, ctypes.addressof(buffer), BUFFER_SIZE, ctypes.addressof(size), END
        )
        self._call("cuLaunchKernelEx", ctypes.byref(config), self._function, None, extra)

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._driver, function)(*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(status, ctypes.byref(text))
            reason = (text.value or b"").decode() or f"error {status}"
            raise self._cuda.LogicError(f"{function} failed: {reason}")
