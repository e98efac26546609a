"""Name the CUDA feature because of which a kernel does not compile for the CPU device."""

from __future__ import annotations

import re

from cudamm.compile.inline_ptx import UNSUPPORTED
from cudamm.errors import KernelError

_FEATURES = {
    "tensor cores": r"nvcuda|wmma|\bmma_sync\b|\bldmatrix\b",
    "the element type half": r"\b(?:__)?(?:nv_)?half2?\b|__(?:half2float|float2half|half2half2)\w*",
    "the element type bfloat16": r"\b(?:__)?nv_bfloat16\w*|__(?:bfloat162float|float2bfloat16)\b",
    "real numbers of 8 bits or fewer": r"__nv_fp[468]\w*",
    "textures and surfaces": r"\b(?:tex|surf)(?:[123]D|Cubemap)|\bcuda(?:Texture|Surface)Object_t|\btexture<",
    "dynamic parallelism, a launch by a kernel": r"before [‘']<[’'] token|\bcudaLaunchDevice\w*",
    "thread block clusters": r"\bcluster_group|\bthis_cluster|__cluster\w*|\bclusterIdx|\bclusterDim",
    "tensor maps and the copy engine (TMA)": r"\bCUtensorMap\b|\bcp_async_bulk\w*|cuda::ptx|cuda/ptx",
    "warp functions without _sync": r"[‘']__(?:shfl(?:_up|_down|_xor)?|any|all|ballot)[’']",
    "SIMD video instructions": r"[‘']__v[a-z]+[24][us]*[’']",
}
"""For each feature that the CPU device lacks, how it shows in a compiler's error."""

_ERROR = re.compile(r"^(.*?:\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)
_FORBIDDEN_CALL = re.compile(r"call to .* declared with (?:attribute error|'error' attribute): (.*)")


def refused_feature(stderr: str) -> KernelError | None:
    """Return an error that names the feature behind a compiler's first error; None if it is another error."""
    errors = list(_ERROR.finditer(stderr))
    for error in errors:
        forbidden = _FORBIDDEN_CALL.fullmatch(error[2])
        if forbidden:
            return KernelError(f"does not compile: {error[1]}: {forbidden[1]}")
    for error in errors[:1]:
        end = stderr.find("\n", error.end() + 1)
        text = stderr[error.start(2) : len(stderr) if end < 0 else end]  # with the line of the source
        for feature, pattern in _FEATURES.items():
            if re.search(pattern, text):
                return KernelError(
                    f"does not compile: {error[1]}: the CPU device does not have {feature}; {UNSUPPORTED}"
                )
    return None
