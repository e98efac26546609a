"""Names of files for options that write files, and for those that read them."""

from __future__ import annotations

import os

from arena import HOSTILE_NAMES
from hypothesis import strategies as st
from option_values import SURROGATES, texts

INPUTS = ("mine.cu", "part.h", "gpu.json", "old.json", "new.json", "notes.txt", "link.json", "link.cu",
          "assignment.toml")  # fmt: skip
"""Files of the arena that no command may change."""

GOOD_INPUTS = {
    "kernels": ("mine.cu",),
    "path": ("gpu.json",),
    "assignment": ("assignment.toml",),
    "submission": ("mine.cu",),
    "old_path": ("old.json",),
    "new_path": ("new.json",),
}
"""Files that a command reads, by the name of its parameter."""

STREAMS = ("/dev/null", "/dev/full", "/dev/stdout", "/dev/stderr", "/proc/self/fd/1", "-")

ODD_OUTPUTS = (
    *INPUTS, *STREAMS, "", " ", ".", "./", "folder", "folder/", "missing/out", "mine.cu/out", "circle",
    "x" * 300,
    "new\nline", "escape\x1b[31m", "tab\t", "--json", "-q", "[bold]", "<b>&", "☃", "./mine.cu",
    "folder/../mine.cu",
    "a" * 250 + ".json", *SURROGATES,
)  # fmt: skip

SUFFIXES = {
    "json": (".json", ""), "resume": (".json",), "csv": (".csv",), "markdown": (".md",), "svg": (".svg",),
    "plot": (".svg", ".png", ".pdf", ".SVG", ".txt", ""), "page": (".html", ""),
    "out": (".json", ""), "junit": (".xml", ""),
}  # fmt: skip


def outputs(option: str) -> st.SearchStrategy[str]:
    """Return names for an option that writes a file."""
    ends = st.sampled_from(SUFFIXES.get(option, ("",)))
    usual = st.tuples(
        st.sampled_from(["out", "folder/out", "out put", "☃", *SURROGATES]) | texts(), ends
    ).map("".join)
    return usual | st.sampled_from(ODD_OUTPUTS)


def inputs() -> st.SearchStrategy[str]:
    """Return names for an option that reads a file."""
    odd = (
        *INPUTS, *STREAMS, "/dev/zero", "fifo", "", " ", ".", "folder", "circle",
        "missing.cu", "x" * 300,
        "mine.cu/x", "/proc/self/mem", "/proc/self/environ", "new\nmissing", *map(os.fsdecode, HOSTILE_NAMES),
    )  # fmt: skip
    return st.sampled_from(odd) | texts()
