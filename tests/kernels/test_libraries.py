"""The methods that call a library on the GPU: beside the ladder, found by name, described by their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudamm.errors import UsageError
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find, ladder, libraries, methods
from cudamm.kernels.variant import variants


def test_cublas_is_a_library_method_beside_the_ladder() -> None:
    cublas = find("cublas")
    assert cublas in libraries() and cublas not in ladder()
    assert methods() == (*ladder(), *libraries())
    assert cublas.element_types == ("float32", "float64", "float16", "bfloat16", "tf32")
    assert cublas.package == "nvmath-python"
    assert cublas.builtin and cublas.summary.endswith(".")
    assert not cublas.runs_on_host and not cublas.is_kernel
    assert len(variants(cublas, {})) == 1


def test_every_file_of_the_folder_is_a_library_method() -> None:
    folder = ladder()[0].path.parent / "library"
    assert {method.path for method in libraries()} == set(folder.glob("*.py"))


def test_no_other_method_calls_a_library() -> None:
    for method in ladder():
        assert method.package == ""
        assert method.is_kernel == (method.path.suffix == ".cu") == (not method.runs_on_host)


def test_names_and_aliases_of_all_methods_are_unique() -> None:
    names = [name for method in methods() for name in (method.name, *method.aliases)]
    assert len(names) == len(set(names))


def test_a_similar_name_is_suggested() -> None:
    with pytest.raises(UsageError, match="did you mean cublas"):
        find("cublass")


def test_a_kernel_file_with_a_library_field_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.cu"
    path.write_text("// Mine.\n//\n// threads: 1\n// grid: 1\n// library: nvmath-python\n\n"
                    "__global__ void mine(int M) {}\n")  # fmt: skip
    with pytest.raises(UsageError, match=r"mine\.cu: only a \.py file can have “library: nvmath-python”"):
        read_method(path)
