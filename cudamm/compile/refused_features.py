"""Name the CUDA feature because of which a kernel does not compile for the CPU device."""

from __future__ import annotations

import re

from cudamm.compile.compiler_process import CompileError
from cudamm.compile.inline_ptx import STILL_TAKEN

_FEATURES = {
    "tensor cores of numbers of 4 bits and of 1 bit": r"\bexperimental\b|\bbmma_sync\b",
    "such real numbers of 8 bits or fewer": r"__nv_fp(?!8_e4m3\b)[468]\w*",
    "textures and surfaces": r"\b(?:tex|surf)(?:[123]D|Cubemap)|\bcuda(?:Texture|Surface)Object_t|\btexture<",
    "dynamic parallelism, a launch by a kernel": r"before [‘']<[’'] token|\bcudaLaunchDevice\w*",
    "thread block clusters": r"\bcluster_group|\bthis_cluster|__cluster\w*|\bclusterIdx|\bclusterDim",
    "tensor maps and the copy engine (TMA)": r"\bCUtensorMap\b|\bcp_async_bulk\w*|cuda::ptx|cuda/ptx",
    "CUB, Thrust and CUTLASS": r"\b(?:cub|thrust|cutlass|cute)/[\w/.]+: No such file",
    "this header of CUDA": r"\bcuda/[\w/.]+: No such file",
    "SIMD video instructions": r"[‘']__v[a-z]+[24][us]*[’']",
}
"""For each feature that the CPU device lacks, how it shows in a compiler's error."""

_REMOVED = re.compile(r"[‘']__(?:shfl(?:_up|_down|_xor)?|any|all|ballot)[’'](?: was not declared|$)")
"""Warp functions without `_sync`, which CUDA no longer has for current GPUs."""

_HEADERS = {
    "mma.h": r"nvcuda|wmma|\bmma_sync\b",
    "cuda_fp16.h": r"[‘'](?:__)?(?:nv_)?half2?[’']|[‘']__\w*half2?(?:_rn|2|float|half)*[’']",
    "cuda_bf16.h": r"[‘'](?:__)?nv_bfloat16\w*[’']|[‘']__\w*bfloat16\w*[’']",
}
"""For each header that a kernel may have forgotten, the names in a compiler's error."""
_UNKNOWN_NAME = re.compile(
    r"not declared|does not name a type|has not been declared|unknown type name|undeclared identifier"
)

_ERROR = re.compile(r"^(.*?:\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)
_FORBIDDEN_CALL = re.compile(r"call to .* declared with (?:attribute error|'error' attribute): (.*)")


def refused_feature(stderr: str) -> CompileError | None:
    """Return an error that names the feature behind a compiler's first error; None if it is another error."""
    errors = list(_ERROR.finditer(stderr))
    for error in errors:
        forbidden = _FORBIDDEN_CALL.fullmatch(error[2])
        if forbidden:
            return CompileError(f"does not compile: {error[1]}: {forbidden[1]}", stderr)
    for place, message in (error.groups() for error in errors[:1]):
        reasons = [f"the CPU device does not have {f}; {STILL_TAKEN}" for f in _features_in(message)]
        if _REMOVED.search(message):
            reasons = ["CUDA has no warp functions without _sync any more: use __shfl_sync and the like"]
        if _UNKNOWN_NAME.search(message):
            headers = (header for header, names in _HEADERS.items() if re.search(names, message))
            reasons += [f"{message}: the kernel needs #include <{header}>" for header in headers]
        if reasons:
            return CompileError(f"does not compile: {place}: {reasons[0]}", stderr)
    return None


def _features_in(message: str) -> list[str]:
    return [feature for feature, pattern in _FEATURES.items() if re.search(pattern, message)]
