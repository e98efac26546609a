"""Values of options: good ones, and those that nobody should type."""

from __future__ import annotations

import os

from hypothesis import strategies as st

NUMBERS = (
    "nan", "-nan", "NaN%", "inf", "-inf", "1e400", "-1e400", "1e308", "1e-400", "5e-324", "0", "-0", "-1",
    "00", "+5",
    "1_000", "٣", "½", "²", "0x10", "1e3", "1.5", "", " ", "\n", "5 6", "5\n6", "9" * 400, "-" + "9" * 400,
    "9" * 5000, "0." + "0" * 400 + "1", str(2**31 - 1), str(2**31), str(2**32 + 5), str(2**53 + 1),
    str(2**63),
    str(2**64), str(2**64 + 7), "100%", "1e400%", "-5%", "10m", "1e9h", "nanm",
)  # fmt: skip

LISTS = (
    "1:10000", "1:64:*2", "64:1", "1:10:0", "1:10:*1", "1:10:*0", "1:10:-1", "1:1000000000",
    "1:9999999999999999999",
    "all", "auto", "best", "8,8", "8,,8", ",", ",,", "8,", "8, 16", ":", "1:", ":1", "1:2:3:4", "1:2:*", "*",
    "16;8",
    "8," * 2000, ",".join(map(str, range(1, 5000))), "1x2", "1x2x3x4", "x", "1×2×3", "0x0x0",
    "100000x100000x100000",
    "1x1x16777216", "2147483647x1x1", "BLOCK_SIZE=8", "=8", "BLOCK_SIZE=", "a=b=c", "[8]", "8-16",
)  # fmt: skip

EXPRESSIONS = (
    "M//0", "M%0", "M/0", "9**9**9", "1<<99", "-1", "K*134217729", "1e400*M", "M" * 400,
    "(" * 500 + "M" + ")" * 500,
    "-" * 5000 + "1", "ceil(M/16),ceil(N/16),1,1", "ceil()", "max()", "max(M)", "min(*M)", "sizeof(element)",
    "sizeof(int)",
    "lambda: 1", "__import__('os')", "M if N else K", "[M]", "M.real", "'M'", "M==N", "M and N", "not M",
    "M\nN", "M;N",
    "Ｍ", "M # N", "1_0", "0b11", "1j", "True", "None", "...", "M:=3", "f'{M}'", "9" * 5000,
    "9999999999999999999*M",
    "M,N,4294967328,A,B,C", "M,N,K,1.0,A,B,0.0,C", "M,N", "A,B,C", "M,N,K,A,B,C,A,B,C", "1e400", "nan",
    "tensor_map(B,8,8)",
    "tensor_map(B,8,8,0,4,2,5)",
    "file({M}.npy)",
)  # fmt: skip

METHODS = (
    "naive", "tiled", "all", "best", "numpy", "cublas", "cosimple", "naive,naive", "naive,", ",", "", " ",
    "Naive", "nope",
    "naive,nope", "na*", "../cuda_src/01_naive.cu", "--help", "-m", "ναive", "naive\n", "all,all", "x" * 5000,
)  # fmt: skip

TARGETS = (
    "auto", "cpu", "gpu", "gpu:0", "gpu:1", "gpu:-1", "gpu:" + "9" * 400, "gpu:x", "gpu:٣", "tpu", "", " ",
    "sm_80", "sm_90a",
    "sm_00", "sm_999", "sm_" + "9" * 400, "8.6", "8.6.1", "nan", "A100", "a100,H100", "all", "all,all",
    "sm_86,", "١",
)  # fmt: skip

TYPES = (
    "float32",
    "float64",
    "int32",
    "float16",
    "tf32",
    "element",
    "",
    "FLOAT32",
    "float32,int32",
    "int32 ",
    "f" * 3000,
)

SURROGATES = (os.fsdecode(b"\xff"), os.fsdecode(b"a\xc3"))
"""How Python sees bytes that are no UTF-8."""

CONTROLS = (
    "\x1b[31m",
    "\x07",
    "\r",
    "\x7f",
    "\x85",
    "‮",
    "[bold]",
    "[/]",
    "<script>",
    "&amp;",
    "`",
    "|",
    "%s",
    "{0}",
)


def texts() -> st.SearchStrategy[str]:
    """Return short texts without a slash, which could lead out of the folder, and without NUL."""
    letters = st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",))
    return st.text(letters, max_size=12).filter(lambda text: ".." not in text) | st.sampled_from(
        SURROGATES + CONTROLS
    )


def numbers() -> st.SearchStrategy[str]:
    """Return numbers of every silly form."""
    return (
        st.sampled_from(NUMBERS)
        | st.integers().map(str)
        | st.floats().map(str)
        | st.tuples(st.integers(0, 99), st.sampled_from(["%", "s", "m", "e", "e9", "."])).map(
            lambda t: f"{t[0]}{t[1]}"
        )
    )


def expressions() -> st.SearchStrategy[str]:
    """Return expressions of headers, most of them with a meaning."""
    atoms = (
        st.sampled_from(("M", "N", "K", "BLOCK_SIZE", "threads", "UNKNOWN", "0", "1", "16", "2.5"))
        | numbers()
    )
    operators = st.sampled_from(
        ("+", "-", "*", "/", "//", "%", "**", "<<", "==", "<", " and ", " or ", ",", " ")
    )
    functions = st.sampled_from(("ceil", "floor", "min", "max", "sizeof", "abs", "", "-"))

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.tuples(inner, operators, inner).map("".join) | st.tuples(functions, inner).map(
            lambda pair: f"{pair[0]}({pair[1]})"
        )

    return st.sampled_from(EXPRESSIONS) | st.recursive(atoms, larger, max_leaves=8)


def lists() -> st.SearchStrategy[str]:
    """Return lists, ranges and sizes."""
    joined = st.tuples(
        st.lists(numbers(), min_size=2, max_size=4), st.sampled_from([",", ":", ":*", "x", "=", "X"])
    )
    return st.sampled_from(LISTS) | joined.map(lambda pair: pair[1].join(pair[0]))


BY_METAVAR = {
    "NAME": st.sampled_from(METHODS + TARGETS) | texts(),
    "TYPE": st.sampled_from(TYPES) | texts(),
    "EXPR": expressions() | texts(),
    "LIST": expressions() | lists() | texts(),
    "[LIST]": expressions() | lists() | texts(),
    "X,Y,Z": expressions() | lists() | texts(),
    "VALUES": lists() | numbers() | texts(),
    "NAME=VALUES": (lists() | numbers()).map("BLOCK_SIZE={}".format) | lists() | texts(),
    "SIZE": lists() | numbers() | texts(),
    "A B": st.sampled_from(METHODS) | texts(),
}
"""Bad values by an option's metavar; other options take numbers."""


def bad_values(metavar: str | None) -> st.SearchStrategy[str]:
    """Return values that an option should not be given, few of which it accepts."""
    return BY_METAVAR.get(metavar or "", numbers() | texts())


GOOD = {
    "methods": ("naive", "coalesced"), "block": ("8", "4,8", "all"), "tile": ("2", "1,2"),
    "sizes": ("9", "16", "5x7x3"),
    "size": ("16",), "defines": ("BLOCK_SIZE=4", "BLOCK_SIZE=4,8"), "dtypes": ("float32", "int32"),
    "seed": ("1",), "inputs": ("uniform", "normal", "integers", "zeros"),
    "runs": ("1", "2"), "warmup": ("0", "1"), "max_time_s": ("0.01",), "max_noise": ("50%",),
    "device_spec": ("cpu", "auto"),
    "timeout_s": ("20",), "arch": ("sm_86", "A100"), "names": ("sm_86", "sm_80,sm_90"), "top": ("1", "3"),
    "conditions": ("BLOCK_SIZE<=8",), "budget_s": ("1s",), "blocks": ("1", "2"), "warp": ("0",),
    "of_block": ("0,0,0",),
    "steps": ("2",), "registers": ("32", "16:64:16"), "shared": ("0,4096", "8*threads"), "barriers": ("1",),
    "sms": ("10",),
    "carveout": ("50",), "ilp": ("1,2",), "load_cycles": ("400",), "instruction_cycles": ("4",),
    "peak": ("19500",),
    "bandwidth": ("1555",), "clock": ("1410",), "memory_clock": ("1215",), "bus_width": ("5120",),
    "confidence": ("90%",),
    "fail_on": ("5%",), "baseline": ("naive",), "entry": ("mine",), "args": ("M,N,K,A,B,C",),
    "requires": ("M%8==0",),
    "threads": ("BLOCK_SIZE,BLOCK_SIZE", "8,8"), "grid": ("ceil(N/8),ceil(M/8)",),
    "shared_bytes": ("0", "256"),
    "traffic": ("8*M*N*K,4*M*N",), "shell": ("bash", "zsh", "fish"),
}  # fmt: skip
"""Values by the name of a parameter that a command accepts, and that cost little time."""
