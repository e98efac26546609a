"""Other spellings of commands, options and values: which are understood, and what is suggested for others."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize("line", ["help", "help help", "HELP", "help -v"])
def test_help_is_a_command(run: Any, line: str) -> None:
    assert run(line).stdout == run("--help").stdout


@pytest.mark.parametrize("line", ["help bench", "bench help", "help bench -m naive"])
def test_help_explains_a_command(run: Any, line: str) -> None:
    found = run(line)
    assert (found.status, found.stdout) == (0, run("bench --help").stdout)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("bnch", "bench"), ("verfiy", "verify"), ("Trace", "trace"), ("OCCUPANCY", "occupancy"),
        ("test", "verify"), ("lint", "check"), ("benchmark", "bench"), ("ls", "list"),
        ("version", "--version"), ("ncu", "profile"), ("gpus", "devices"),
        ("swep", "sweep"), ("raport", "report"),
    ],
)  # fmt: skip
def test_a_mistyped_command_has_a_suggestion(run: Any, word: str, meant: str) -> None:
    run(word).refused(2, f"no such command '{word}' (did you mean '{meant}'", "see cudamm --help")
    run(f"help {word}").refused(2, f"(did you mean '{meant}'")


def test_a_word_that_is_near_no_command_has_no_suggestion(run: Any) -> None:
    run("xyzzy").refused(2, "no such command 'xyzzy'; see cudamm --help")


def test_a_file_or_a_method_in_the_place_of_a_command_is_recognised(run: Any) -> None:
    run("homework/mine.cu").refused(2, "“homework/mine.cu” is a file", "cudamm verify homework/mine.cu")
    run("program.py -n 64").refused(2, "is a file", "cudamm check program.py")
    run("tiled").refused(2, "“tiled” is a method", "cudamm verify -m tiled")


def test_an_option_before_the_command_is_refused_with_its_place(run: Any) -> None:
    run("-n 64 bench").refused(2, "-n belongs after a command")


@pytest.mark.parametrize(
    "spelling", ["-fmad=false", "--fmad=false", "-fmad false", "--fmad false", "--no-fmad"]
)
def test_fused_multiply_add_is_switched_off_as_for_nvcc(run: Any, spelling: str) -> None:
    found = run(f"verify -m naive -n 8 --dtype float32 {spelling}")
    assert found.status == 0 and "no fused multiply-add" in found.stdout


@pytest.mark.parametrize(
    "spelling", ["-fmad=true", "--fmad=true", "-fmad true", "-fmad", "--no-fmad -fmad=true"]
)
def test_fused_multiply_add_is_switched_on_as_for_nvcc(run: Any, spelling: str) -> None:
    found = run(f"verify -m naive -n 8 --dtype float32 {spelling}")
    assert found.status == 0 and "no fused multiply-add" not in found.stdout


@pytest.mark.parametrize("value", ["1", "off", "", "TRUE "])
def test_another_value_of_fmad_is_refused(run: Any, value: str) -> None:
    run(f"verify -m naive '-fmad={value}'").refused(2, "-fmad=true or -fmad=false")


def test_nothing_after_two_dashes_is_respelled(run: Any) -> None:
    run("verify -- -fmad=false").refused(2, "-fmad=false")


@pytest.mark.parametrize("sizes", ["-n 8,9x10x11", "-n 8 -n 9x10x11", "--size 8,9X10X11", "-n8,9x10x11"])
def test_sizes_may_be_a_list(run: Any, sizes: str) -> None:
    rows = run(f"verify -m naive --dtype int32 {sizes} --json -").records
    assert [(row["m"], row["n"], row["k"]) for row in rows] == [(8, 8, 8), (9, 10, 11)]


def test_element_types_may_be_a_list(run: Any) -> None:
    rows = run("verify -m naive --dtype int32,float64 -n 8 --json -").records
    assert [row["dtype"] for row in rows] == ["int32", "float64"]


@pytest.mark.parametrize("options", ["-n 8,,9", "-n 8,", "-n ,", "--dtype float32,"])
def test_an_empty_place_in_a_list_is_refused(run: Any, options: str) -> None:
    run(f"verify -m naive {options}").refused(2, "contains an empty value")


def test_sizes_with_spaces_between_them_are_refused_with_the_right_form(run: Any) -> None:
    run("verify -m naive -n 64 128").refused(2, "“128” belongs to no option", "-n 64,128")
    run("trace -m naive -n 64 32x16x8").refused(2, "“32x16x8” belongs to no option")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-m register-tile -D TILE", ["has no value (did you mean TILE_SIZE?)", "-D TILE_SIZE=16"]),
        ("-m register-tile -D BLOCK_SIZE", ["“-D BLOCK_SIZE” has no value:", "-D BLOCK_SIZE=16"]),
        ("-m register-tile -D TILE=", ["has no value", "did you mean TILE_SIZE?"]),
        ("-m tiled -D STRIDE", ["has no value (there is BLOCK_SIZE)"]),
        ("-m register-tile -D TILES=8", ["the parameter TILES: did you mean TILE_SIZE?"]),
        ("-m tiled -D blocksize=8", ["did you mean BLOCK_SIZE?"]),
        ("-m tiled -D STRIDE=8", ["no chosen method has the parameter STRIDE (tiled has BLOCK_SIZE)"]),
        ("mine.cu --threads 8 --grid 1 -D TILE_WIDHT=8", ["TILE_WIDHT: did you mean TILE_WIDTH?"]),
        ("mine.cu --threads 8 --grid 1 -D TILE", ["has no value (did you mean TILE_WIDTH?)"]),
    ],
)  # fmt: skip
def test_a_mistyped_parameter_has_a_suggestion(
    run: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, options: str, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.cu").write_text(
        "#define TILE_WIDTH 16\n"
        "__global__ void mm(int M, int N, int K, const float *A, const float *B, float *C) {\n"
        "    C[threadIdx.x] = TILE_WIDTH;\n}\n"
    )
    run(f"verify -n 8 {options}").refused(2, *words)


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("-block 8", "-block (did you mean --block?)"),
        ("-arch=sm_80", "-arch (did you mean"),
        ("--sizes 8", "--sizes (did you mean --size"),
        ("--n 8", "--n (did you mean -n?)"),
        ("--kernels my.cu", "--kernels (did you mean --kernel?)"),
        ("-O3", "-O3; see cudamm bench --help"),
    ],
)
def test_a_mistyped_option_has_a_suggestion(run: Any, option: str, meant: str) -> None:
    run(f"bench {option}").refused(2, f"no such option {meant}", "see cudamm bench --help")
