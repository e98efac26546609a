"""The methods that come with cudamm: their order, their names and the consistency of their headers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cudamm.errors import UsageError
from cudamm.kernels.ladder import find, ladder, methods, names
from cudamm.kernels.method import Method
from cudamm.source.c_text import kernels_in


def test_methods_are_in_the_order_of_their_file_numbers() -> None:
    names = [method.name for method in ladder()]
    numbers = [int(method.path.name.split("_")[0]) for method in ladder()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert names[:4] == ["cpu-simple", "cpu-block", "numpy", "naive"]
    assert names.index("coalesced") < names.index("tiled") < names.index("double-buffer")


def test_every_file_of_the_folder_is_a_method() -> None:
    folder = ladder()[0].path.parent
    kernel_files = {p for p in folder.iterdir() if p.suffix in (".cu", ".cpp", ".py")}
    assert {method.path for method in ladder()} == kernel_files
    assert all(method.builtin for method in ladder())


def test_names_are_those_of_all_methods_and_lead_to_them() -> None:
    expected = {name: method for method in methods() for name in (method.name, *method.aliases)}
    files = {name: method.path.name for name, method in expected.items()}
    assert {name: path.name for name, path in names().items()} == files
    assert all(find(name) is method for name, method in expected.items())


def test_names_and_aliases_are_unique() -> None:
    names = [name for method in ladder() for name in (method.name, *method.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("method", ladder(), ids=lambda m: m.name)
def test_a_header_is_consistent_with_its_file_and_its_kernel(method: Method) -> None:
    assert method.summary.endswith((".", "."))
    # A method without a `types` field supports every element type, if it keeps sums in `accumulator`.
    stated = re.search(r"^// types: +(.+)$", method.source, re.MULTILINE)
    if stated:
        assert method.element_types == tuple(stated[1].split(", "))
    else:
        keeps_sums_wide = "accumulator sum" in method.source or "accumulator subC" in method.source
        full_width = ("float32", "float64", "int32")
        narrow = ("float16", "bfloat16") if keeps_sums_wide else ()
        of_sums = "float16_to_float32", "bfloat16_to_float32", "float8_e4m3_to_float32", "int8"
        has_results = ("float8_e4m3", *of_sums) if "result *C" in method.source else ()
        assert method.element_types == (*full_width, *narrow, *has_results)
    assert method.name.replace("-", "_") == re.sub(r"^\d+_", "", method.path.stem)
    if method.language == "cuda":
        assert kernels_in(method.source) == [method.entry]
        assert method.threads
        assert method.grid
        assert method.sources
        # The traffic of these depends on where tiles are cut, and on the number of their parts.
        cut = ("stream-k", "bf16x9", "tensor-stream-k", "tensor-split-k")
        assert method.traffic is not None or method.name in cut
    for parameter in method.parameters:
        assert parameter.default in parameter.values
        assert len(parameter.values) > 1
        assert list(parameter.values) == sorted(set(parameter.values))
        # A parameter that the kernel does not use would make equal variants.
        assert re.search(rf"\b{parameter.name}\b", method.source)


def test_the_ladder_contains_methods_of_every_course() -> None:
    sources = " ".join(method.sources for method in ladder())
    for course in ("CMU 15-418", "Tsinghua", "Sheffield", "SJTU", "PMPP"):
        assert course in sources


@pytest.mark.parametrize(
    ("alias", "name"),
    [("simple", "cpu-simple"), ("cosimple", "naive"), ("csimple", "coalesced"), ("method1", "coalesced"),
     ("method2", "register-tile"), ("method3", "tiled"), ("cblock", "tiled"),
     ("ccblock", "block-coarse-local"),
     ("block", "cpu-block"), ("register-prefetch", "double-buffer"), ("split-k", "sliced-k")],
)  # fmt: skip
def test_methods_are_found_by_other_names(alias: str, name: str) -> None:
    assert find(alias) is find(name)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("tild", "did you mean tiled"),
        ("tiled_dynamic", "did you mean tiled-dynamic"),
        ("zzzzzz", "the methods are cpu-simple, cpu-block"),
    ],
)
def test_an_unknown_name_is_refused_with_a_suggestion(wrong: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        find(wrong)


def test_the_files_of_the_ladder_are_in_cuda_src() -> None:
    assert ladder()[0].path.parent.name == "cuda_src"
    assert ladder()[0].path.parent.is_dir()
    assert isinstance(ladder()[0].path, Path)
