"""Environments in which a command may find itself."""

from __future__ import annotations

from hypothesis import strategies as st

VALUES = {
    "CXX": (
        "",
        "  ",
        '"',
        "g++ '",
        "false",
        "true",
        "/nonexistent/c++",
        "folder",
        "./mine.cu",
        "echo",
        "\x1b[31m",
        "g++ -O0",
    ),
    "LC_ALL": ("", "C", "POSIX", "tr_TR.UTF-8", "nonsense", "C.UTF-8"),
    "COLUMNS": ("", "0", "-1", "1", "7", "99999", "9" * 30, "x", "nan"),
    "LINES": ("0", "x"),
    "TMPDIR": ("", "/nonexistent", "mine.cu", "folder"),
    "MPLBACKEND": (
        "",
        "module://matplotlib_inline.backend_inline",
        "nonsense",
        "agg",
        "module://nonsense",
        "TkAgg",
    ),
    "MPLCONFIGDIR": ("/nonexistent", "mine.cu"),
    "HOME": ("", "/nonexistent", "mine.cu"),
    "XDG_DATA_HOME": ("", "/proc/nothing", "mine.cu", "relative"),
    "CUDAMM_CACHE": ("mine.cu", "/proc/nothing", "/dev/null", "circle"),
    "NO_COLOR": ("", "1"),
    "FORCE_COLOR": ("", "1"),
    "TERM": ("", "dumb", "nonsense", "xterm-256color"),
    "PYTHONIOENCODING": ("ascii", "latin-1:replace", "utf-8:strict"),
    "PYTHONUTF8": ("0", "1"),
    "PYTHONWARNINGS": ("default",),
    "CUDA_VISIBLE_DEVICES": ("0", "-1", "x"),
    "CUDA_HOME": ("", "/nonexistent", "mine.cu"),
    "CPATH": ("", ".", "/nonexistent"),
    "PATH": ("", "/nonexistent"),
}
"""Values of environment variables. None makes a command compile what the cache has already."""

READ_BY_INTERPRETER = {"LC_ALL", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONWARNINGS"}
"""Variables that take effect only when an interpreter starts."""

FOR_AN_INTERPRETER = (
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
)


def environments() -> st.SearchStrategy[dict[str, str]]:
    """Return changed variables; often none."""
    changed = st.sampled_from([(name, value) for name, values in VALUES.items() for value in values])
    return st.lists(changed, min_size=1, max_size=2).map(dict)
