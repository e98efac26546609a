"""Constants that a header file takes from the other headers of its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudamm.kernels.header import Overrides, parse_method
from cudamm.kernels.method import Parameter

KERNEL = """#pragma once
__global__ void gemm(int M, int N, int K, const float *A, const float *B, float *C) {{
    {body}
}}
"""
LAUNCH = {"threads": "32", "grid": "1"}


def remarks(
    folder: Path, siblings: dict[str, str], body: str, name: str = "2_own.cuh", **more
) -> tuple[str, ...]:
    for file, text in siblings.items():
        (folder / file).write_text(text)
    return parse_method(KERNEL.format(body=body), folder / name, Overrides(LAUNCH, **more)).remarks


def test_a_header_takes_a_constant_from_its_siblings(tmp_path: Path) -> None:
    (tmp_path / "1_warps.cuh").write_text("#pragma once\nconst int WARP = 32; // of all GPUs\n")
    (tmp_path / "3_more.h").write_text("const int WARP = 32;\nvoid f() { const int WARP = 7; }\n")
    method = parse_method(
        KERNEL.format(body="int w = threadIdx.x / WARP;"), tmp_path / "2_own.cuh", Overrides(LAUNCH)
    )
    first, second, *_ = method.code.splitlines()
    assert (first, second) == ("static constexpr int WARP = 32;", '#line 1 "2_own.cuh"')
    assert method.remarks == (
        "2_own.cuh uses WARP without a definition: 1_warps.cuh beside it has “int WARP = 32;”",
    )
    assert "static constexpr int WARP = 32;" in method.included


@pytest.mark.parametrize(
    ("sibling", "body"),
    [
        ("#define WARP 32", "int w = threadIdx.x % WARP;"),
        ("#define WARP (32)", "if (threadIdx.x > WARP) return;"),
        ("  constexpr unsigned int WARP = 0x20u;", "return f(1 & WARP);"),
        ("static const float WARP = 1.5e0f;", "x = 2 * WARP;"),
    ],
)
def test_constants_are_found_as_headers_write_them(tmp_path: Path, sibling: str, body: str) -> None:
    assert len(remarks(tmp_path, {"a.h": sibling}, body)) == 1


@pytest.mark.parametrize(
    ("siblings", "body"),
    [
        ({"a.h": "#define WARP 32", "b.h": "#define WARP 64"}, "int w = WARP;"),
        ({"a.h": "#ifdef X\n#define WARP 32\n#else\n#define WARP 64\n#endif"}, "int w = WARP;"),
        ({"a.h": "#define WARP 32"}, "const int WARP = 16; int w = WARP;"),
        ({"a.h": "#define WARP 32"}, "float *WARP = C; int w = 1 + WARP[0];"),
        ({"a.h": "#define WARP 32"}, "int w = s.WARP + s->WARP + T::WARP;"),
        ({"a.h": "#define WARP 32"}, "\n#ifdef WARP\n#endif\n"),
        ({"a.h": "#define WARP 32"}, "int w; // WARP"),
        ({"a.h": "#define WARP (TILE * 2)"}, "int w = WARP;"),
        ({"a.h": "void f() { const int WARP = 32; }"}, "int w = WARP;"),
        ({"a.cu": "#define WARP 32"}, "int w = WARP;"),
        ({"a.h": "#define WARP 32"}, "\n#define WARP 8\nint w = WARP;"),
    ],
)  # fmt: skip
def test_no_constant_is_taken_that_may_not_be_meant(
    tmp_path: Path, siblings: dict[str, str], body: str
) -> None:
    assert remarks(tmp_path, siblings, body) == ()


def test_a_value_of_the_user_and_a_complete_file_need_no_sibling(tmp_path: Path) -> None:
    sibling = {"a.h": "#define WARP 32"}
    given = (Parameter("WARP", 8, (8,)),)
    assert remarks(tmp_path, sibling, "int w = WARP;", parameters=given) == ()
    assert remarks(tmp_path, sibling, "int w = WARP;", name="own.cu") == ()
