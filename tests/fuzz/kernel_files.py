"""Kernel files whose header is damaged."""

from __future__ import annotations

from arena import KERNEL, Line
from hypothesis import strategies as st
from option_values import CONTROLS, expressions, lists, numbers, texts

FIELDS = (
    "param", "threads", "grid", "shared-bytes", "traffic", "constant", "requires", "needs", "ceiling",
    "ptxas", "args",
    "entry", "types", "aliases", "sources", "sum-order", "library", "nonsense", "",
)  # fmt: skip

PARAMETERS = (
    "X", "X = 1", "X = 1 in 2", "X = 1 in 1:64:*2", "X = 1 in 1:1000000000", "BLOCK_SIZE = 8 in 8",
    "M = 1 in 1", "X = in",
    "X = 1 in " + ",".join(map(str, range(5000))), "X = x in x, y", "x y = 1 in 1", "X = 1 in 1, 1",
    "X = -1 in -1", "= 1 in 1",
    "X = 99999999999999999999 in 99999999999999999999", "X = 0 in 0", "__global__ = 1 in 1", "X = 1.5 in 1.5",
    "Ｘ = 1 in 1",
)  # fmt: skip

CONSTANTS = (
    "s = 1",
    "s",
    "s = M",
    "s = 99999999999999999999",
    "s = 1/0",
    "s = 1e400",
    "= 1",
    "s = s",
    "s t = 1",
)


def values() -> st.SearchStrategy[str]:
    """Return values of fields."""
    return (
        expressions()
        | st.sampled_from(PARAMETERS + CONSTANTS + CONTROLS)
        | lists()
        | numbers()
        | texts()
        | st.sampled_from(
            ("sm_90", "sm_99a", "float32", "float32, int32", "k", "mine", "-O1", "-O1; rm", "16 / 9", "1e999")
        )
    )


BODIES = (
    b"", b"\0", b"\xff\xfe", b"// \xff", b"/*", b"//", b"// x\n//\n// threads: 1\n// grid: 1", b'"',
    b"'" * 999, b"R\"(", b"#",
    b"__global__", b"__global__ void f(", b"__global__ void f() {}\n__global__ void g() {}",
    b"#include \"mine.cu\"\n",
    b"#include <" + b"x" * 5000 + b">", b"#include \"/dev/zero\"\n", b"#include \"fifo\"\n", b"\\\n" * 999,
    b"/" * 60_000,
    b"_" * 60_000, b"(" * 60_000, b" " * 60_000, b"/*" * 30_000, b"a " * 30_000, b"#define " + b"X" * 60_000,
    b"__global__ " * 6_000, b"// " + b"param: " * 8_000, b"<" * 60_000, b"\"\\" * 30_000,
    b"__launch_bounds__(" * 3_000,
)  # fmt: skip
"""Files that are hardly kernels. Some make patterns with nested repetitions slow."""

READERS = (
    ("show", "--kernel", "edited.cu"),
    ("roofline", "--kernel", "edited.cu", "--peak", "19500", "--bandwidth", "1555"),
    ("bench", "--kernel", "edited.cu", "-n", "16"),
    ("verify", "--kernel", "edited.cu", "-n", "16"),
    ("trace", "--kernel", "edited.cu", "-n", "16"),
    ("check", "--kernel", "edited.cu", "-n", "16"),
    ("occupancy", "--kernel", "edited.cu", "--arch", "sm_86"),
    ("sweep", "--kernel", "edited.cu", "-n", "16"),
    ("tune", "--kernel", "edited.cu", "-n", "16"),
)


@st.composite
def kernels(draw: st.DrawFn) -> bytes:
    """Return the bytes of a kernel file."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(BODIES) | st.sampled_from(BODIES).map(KERNEL.encode().__add__))
    head, body = KERNEL.split("#include", 1)
    lines = head.splitlines()
    for _ in range(draw(st.integers(1, 2))):
        text = f"// {draw(st.sampled_from(FIELDS))}: {draw(values())}"
        place = draw(st.integers(0, len(lines)))
        lines[place : place + draw(st.integers(0, 1))] = [text]
    return ("\n".join(lines) + "\n#include" + body).encode(errors="surrogateescape")


def lines() -> st.SearchStrategy[Line]:
    """Return command lines that read a damaged kernel file, which no compiler accepts, to save time."""
    return st.builds(
        lambda words, content: Line(words, {"CXX": "false"}, files={"edited.cu": content}),
        st.sampled_from(READERS),
        kernels(),
    )
