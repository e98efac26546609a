"""`cudamm show`: source, PTX, machine code and resources of variants, and a comparison of two variants."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from cudamm.compile import listing, nvcc_compiler, toolkit
from cudamm.compile.program import Program
from cudamm.kernels.ladder import ladder
from cudamm.output.show_text import compared_instructions

SOURCES = Path(__file__).resolve().parents[2] / "cuda_src"
ESCAPES = re.compile(r"\x1b\[[\d;]*m")
NO_LAUNCH = "__global__ void bare(float *C) {\n    C[threadIdx.x] = VALUE;\n}\n"


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Write a file that has no header, so no launch is described, and that needs a value of -D."""
    path = tmp_path / "bare.cu"
    path.write_text(NO_LAUNCH)
    return path


def instructions(text: str) -> tuple[dict[str, int], str]:
    """Return the totals in the last line of a diff, by name, and the rest of the line."""
    last = " ".join(text.rpartition("Instructions:")[2].split())
    totals, _, rest = last.partition(". ")
    return {name: int(count) for name, count in re.findall(r"(\S+) (\d+)(?:,|$)", totals)}, rest


class TestSource:
    def test_a_pipe_gets_the_text_that_the_compiler_gets(self, run) -> None:
        ended = run("show -m tiled --block 16 --dtype float64")
        assert ended.status == 0 and ended.stderr == ""
        title, *before, directive = ended.stdout.splitlines()[:7]
        assert title == "// tiled BLOCK_SIZE=16, float64"
        assert before[1:] == [
            "#define BLOCK_SIZE 16",
            "typedef double element;",
            "typedef double result;",
            "typedef double accumulator;",
        ]
        assert directive == '#line 1 "09_tiled.cu"'
        assert ended.stdout.endswith(directive + "\n" + (SOURCES / "09_tiled.cu").read_text())

    def test_the_source_can_be_compiled(self, run, tmp_path: Path, needs_nvcc: None) -> None:
        (tmp_path / "shown.cu").write_text(run("show -m register-tile --tile 2").stdout)
        completed = subprocess.run(
            [nvcc_compiler.nvcc().path, "-cubin", "-o", "shown.cubin", "shown.cu"], cwd=tmp_path, check=False
        )
        assert completed.returncode == 0

    def test_several_variants_are_shown_one_after_the_other(self, run) -> None:
        shown = run("show -m naive,tiled --block 8,16").stdout
        titles = re.findall(r"^// (\S+ BLOCK_SIZE=\d+), float32$", shown, re.MULTILINE)
        assert titles == [f"{name} BLOCK_SIZE={size}" for name in ("naive", "tiled") for size in (8, 16)]
        assert re.findall(r"^#define BLOCK_SIZE (\d+)$", shown, re.MULTILINE) == ["8", "16", "8", "16"]

    @pytest.mark.parametrize("name", ["cpu-block", "numpy"])
    def test_host_methods_have_a_source(self, run, name: str) -> None:
        (path,) = SOURCES.glob(f"*{name.replace('-', '_')}.*")
        ended = run(f"show -m {name}")
        assert ended.status == 0
        assert ended.stdout.endswith(path.read_text())

    def test_line_numbers_are_those_of_the_methods_file(self, run) -> None:
        text = (SOURCES / "09_tiled.cu").read_text().splitlines()
        shown = run("show -m tiled --numbers").stdout.splitlines()
        numbered = dict(m.groups() for m in (re.match(r" *(\d+) ?(.*)", line) for line in shown[5:]) if m)
        assert numbered == {str(number): line for number, line in enumerate(text, 1)}

    def test_line_directives_of_a_user_change_no_line_number(self, run, tmp_path: Path) -> None:
        (tmp_path / "own.cu").write_text('#line 1 "x.cu"\n__global__ void own() {}\n')
        assert "2 __global__ void own() {}" in run("show --kernel own.cu --numbers").stdout

    def test_a_terminal_gets_numbers_and_colour(self, on_terminal) -> None:
        shown = on_terminal("show -m naive", COLUMNS="120").stdout
        assert "\x1b[" in shown
        plain = ESCAPES.sub("", shown).splitlines()
        assert any(re.match(r" *1 // One thread per element", line) for line in plain)
        assert max(map(len, plain)) <= 120
        without = ESCAPES.sub("", on_terminal("show -m naive --no-numbers", COLUMNS="120").stdout)
        assert without.splitlines()[7].startswith("// One thread per element")
        assert "\x1b[" not in on_terminal("show -m naive", NO_COLOR="1").stdout

    def test_markup_and_emoji_in_a_file_are_shown_unchanged(self, run, on_terminal, tmp_path: Path) -> None:
        text = "__global__ void own() { /* [bold]:100:[/] */ }\n"
        (tmp_path / "[red]own.cu").write_text(text)
        assert run("show --kernel [red]own.cu").stdout.endswith(text)
        assert "[bold]:100:[/]" in ESCAPES.sub("", on_terminal("show --kernel [red]own.cu").stdout)

    def test_the_source_needs_no_compiler(self, spawn) -> None:
        assert spawn("show -m naive", PATH="/nonexistent", CXX="none").status == 0


@pytest.mark.usefixtures("needs_nvcc")
class TestCompiled:
    def test_ptx_is_that_of_the_variant_and_the_architecture(self, run) -> None:
        ended = run("show -m tiled --block 8 --ptx --arch 8.6 --no-fmad")
        assert ended.status == 0 and ended.stderr == ""
        assert "// tiled BLOCK_SIZE=8, float32, sm_86, no fmad\n" in ended.stdout
        assert ended.stdout.count(".target sm_86") == 1
        assert "fma.rn" not in ended.stdout
        assert re.findall(r"\.shared .*\[(\d+)\];", ended.stdout) == ["256", "256"]  # tiles of 8 x 8 floats

    def test_without_a_gpu_the_architecture_is_reported(self, run) -> None:
        ended = run("show -m naive --ptx")
        assert ".target sm_90" in ended.stdout
        assert (
            ended.stderr == "cudamm: no GPU here, so code is compiled for sm_90; choose another with --arch\n"
        )

    @pytest.mark.slow
    def test_an_older_compiler_compiles_for_its_newest_architecture(self, run, monkeypatch) -> None:
        import dataclasses

        older = dataclasses.replace(nvcc_compiler.nvcc(), architectures=("sm_75", "sm_80"))
        monkeypatch.setattr(nvcc_compiler, "nvcc", lambda: older)
        ended = run("show -m naive --ptx")
        assert ".target sm_80" in ended.stdout and "sm_80" in ended.stderr

    @pytest.mark.parametrize("line", ["show --ptx --arch sm_90", "show -m all --ptx --arch sm_90"])
    def test_compiled_code_of_all_leaves_host_methods_out(self, run, monkeypatch, line: str) -> None:
        def list_file_name(program: Program, arch: str) -> listing.Listing:
            return listing.Listing("ptx", arch, "", program.method.path.name + "\n", ())

        monkeypatch.setitem(listing.LISTINGS, "ptx", list_file_name)
        shown = [text for text in run(line).stdout.splitlines() if text and not text.startswith("//")]
        methods = [m for m in ladder() if m.language == "cuda" and "float32" in m.element_types]
        assert shown == [method.path.name for method in methods]

    @pytest.mark.slow
    def test_compiled_code_is_taken_from_the_cache(self, run, monkeypatch) -> None:
        first = run("show -m naive --ptx --arch sm_80").stdout

        def refuse(*_: object) -> str:
            raise AssertionError("a compiler was run")

        monkeypatch.setattr(listing, "made_by_nvcc", refuse)
        monkeypatch.setattr(nvcc_compiler, "made_by_nvcc", refuse)
        assert run("show -m naive --ptx --arch sm_80").stdout == first

    @pytest.mark.slow
    def test_a_file_without_a_header_can_be_shown(self, run, bare: Path) -> None:
        assert "#define VALUE 42" in run("show --kernel bare.cu -D VALUE=42").stdout
        assert "1109917696;" in run("show --kernel bare.cu -D VALUE=42 --ptx --arch sm_80").stdout  # 42.0f

    def test_machine_code_needs_nvdisasm(self, run) -> None:
        if toolkit.find_nvdisasm(nvcc_compiler.nvcc().path) is None:
            run("show -m naive --sass --arch sm_80").refused(3, "pip install nvidia-cuda-nvdisasm")
            return
        shown = run("show -m naive --sass --arch sm_80").stdout
        assert "FFMA" in shown and "EXIT" in shown and ".text._Z5naive" in shown

    @pytest.mark.slow
    def test_resources_are_those_that_occupancy_reports(self, run) -> None:
        ended = run("show --resources -m tiled-padded,tiled-dynamic,block-coarse-local --arch sm_90")
        assert ended.status == 0
        rows = [
            [cell.strip() for cell in line.strip("│").split("│")]
            for line in ended.stdout.splitlines()
            if line.startswith("│")
        ]
        records = run(
            "occupancy -m tiled-padded,tiled-dynamic,block-coarse-local --block 32 --arch sm_90 --json -"
        ).records
        assert len(rows) == len(records) == 3
        for row, record in zip(rows, records, strict=True):
            numbers = (
                "registers_per_thread", "static_shared_bytes", "local_bytes_per_thread", "spill_store_bytes",
                "spill_load_bytes", "constant_bytes", "barriers",
            )  # fmt: skip
            assert row[0] == record["method"]
            assert row[2:-1] == [f"{record[number]:,}" for number in numbers]
            bound = record["max_threads_per_block"]
            assert row[-1] == ("-" if bound is None else f"{bound:,}")
        assert rows[0][3] == "8,320"  # (32 x 33 + 32 x 32) floats
        assert "tiled-dynamic also requests shared memory at launch: 2 * BLOCK_SIZE" in ended.stdout

    @pytest.mark.slow
    @pytest.mark.sampled(3)
    @pytest.mark.parametrize("columns", [60, 80, 120])
    def test_resources_fit_the_terminal(self, on_terminal, columns: int) -> None:
        methods = "-m block-coarse-local,tiled-padded --dtype float32 --dtype float64"
        shown = on_terminal(
            f"show --resources {methods} --arch sm_90", COLUMNS=str(columns), NO_COLOR="1"
        ).stdout
        assert max(map(len, shown.splitlines())) <= columns
        assert "…" not in shown
        # Shared memory of floats and of doubles, and the local memory of three sub-matrices of floats.
        assert all(number in shown for number in ("8,320", "16,640", "12,288"))

    def test_a_variant_that_does_not_compile_is_a_failed_row(self, run, bare: Path) -> None:
        ended = run("show --kernel bare.cu -D VALUE=42,nothing --resources --arch sm_80")
        assert ended.status == 1
        assert re.search(r"bare +│ +VALUE=42 +│ +\d+", ended.stdout)
        assert "bare VALUE=nothing float32: does not compile: bare.cu(2)" in ended.stdout
        ended = run("show --kernel bare.cu -D VALUE=42,nothing --ptx --arch sm_80")
        assert ended.status == 1
        assert ended.stdout.count(".visible .entry") == 1
        assert ended.stderr.startswith(
            "cudamm: bare VALUE=nothing, float32, sm_80: does not compile: bare.cu(2)"
        )

    def test_a_file_of_which_no_variant_compiles_is_refused(self, run, bare: Path) -> None:
        run("show --kernel bare.cu --ptx --arch sm_80").refused(2, "bare.cu(2)", "VALUE")


class TestDiff:
    @pytest.mark.slow
    @pytest.mark.usefixtures("needs_nvcc")
    def test_naive_and_coalesced_differ_in_no_instruction(self, run) -> None:
        shown = run("show --diff naive coalesced --ptx --arch sm_90").stdout
        totals, comparison = instructions(shown)
        assert list(totals) == ["naive", "coalesced"] and len(set(totals.values())) == 1
        assert comparison.startswith("Each opcode occurs equally often in both, in the same order: ")
        counts = re.findall(r"(\d+)[,.]", comparison.partition("order:")[2] + ",")
        assert sum(map(int, counts)) == totals["naive"]
        # The lines are aligned. Four lines differ, and only in x and y.
        marked = [line.split(" | ") for line in shown.splitlines() if " | " in line]
        assert len(marked) == 4
        for left, right in marked:
            assert re.sub(r"\.[xy];", "", left).split() == re.sub(r"\.[xy];", "", right).split()
        assert not re.search(r" [<>] {4}|[<>] *$", shown)

    @pytest.mark.usefixtures("needs_nvcc")
    def test_differing_and_equal_instructions_are_counted(self, run) -> None:
        totals, comparison = instructions(run("show --diff naive tiled --ptx --arch sm_90").stdout)
        differing, _, equal = comparison.removeprefix("They differ in ").partition(". Equal in both: ")
        pairs = re.findall(r"(\S+) (\d+) / (\d+)", differing)
        same = re.findall(r"(\S+) (\d+)", equal)
        assert ("bar.sync", "0", "2") in pairs
        assert all(naive != tiled for _, naive, tiled in pairs)
        differences = [abs(int(naive) - int(tiled)) for _, naive, tiled in pairs]
        assert differences == sorted(differences, reverse=True)
        both = sum(int(count) for _, count in same)
        assert sum(int(naive) for _, naive, _ in pairs) + both == totals["naive"]
        assert sum(int(tiled) for _, _, tiled in pairs) + both == totals["tiled"]

    def test_other_orders_and_other_opcodes_are_described(self) -> None:
        assert compared_instructions("a", ["x", "y", "x"], "b", ["x", "x", "y"]) == (
            "Instructions: a 3, b 3. Each opcode occurs equally often in both, in another order: x 2, y 1."
        )
        assert compared_instructions("a", ["x"], "b", ["y", "y"]) == (
            "Instructions: a 1, b 2. They differ in y 0 / 2, x 1 / 0."
        )

    def test_sources_are_compared_side_by_side(self, run) -> None:
        shown = run("show --diff tiled-padded,PAD=0 tiled-padded,PAD=1").stdout.splitlines()
        assert re.match(r"tiled-padded BLOCK_SIZE=32 PAD=0, float32 +tiled-padded \S+ PAD=1", shown[0])
        marked = [line.split() for line in shown if " | " in line]
        assert marked == [["#define", "PAD", "0", "|", "#define", "PAD", "1"]]
        lines = len((SOURCES / "11_tiled_padded.cu").read_text().splitlines()) + 7
        assert shown[-1] == (
            f"1 of {lines} lines of tiled-padded BLOCK_SIZE=32 PAD=0 and 1 of {lines} of "
            "tiled-padded BLOCK_SIZE=32 PAD=1 differ."
        )

    def test_a_narrow_terminal_gets_a_unified_diff_that_can_be_applied(self, on_terminal) -> None:
        line = "show --diff tiled tiled-dynamic"
        plain = ESCAPES.sub("", on_terminal(line, COLUMNS="99").stdout)
        first, second = (
            on_terminal(f"show -m {name} --no-numbers", COLUMNS="300", NO_COLOR="1").stdout.split("\n", 1)[1]
            for name in ("tiled", "tiled-dynamic")
        )
        before, after, *diff = plain[: plain.rindex("}\n") + 1].splitlines()
        assert before == "--- tiled BLOCK_SIZE=32, float32"
        assert after == "+++ tiled-dynamic BLOCK_SIZE=32, float32"
        assert apply_unified_diff(first.splitlines(), diff) == second.splitlines()
        assert plain.endswith("differ.\n")

    def test_equal_sources_are_reported_as_equal(self, run, on_terminal) -> None:
        assert run("show --diff tiled cblock").stdout.endswith("\nNo line differs.\n")
        narrow = on_terminal("show --diff tiled cblock", COLUMNS="80", NO_COLOR="1").stdout
        assert narrow.endswith("\nNo line differs.\n") and "@@" not in narrow

    def test_two_columns_fit_the_terminal(self, on_terminal) -> None:
        shown = on_terminal("show --diff naive tiled", COLUMNS="100", NO_COLOR="1").stdout
        assert max(map(len, shown.splitlines())) <= 100
        assert " | " in shown and "@@" not in shown
        assert "\x1b[" in on_terminal("show --diff naive tiled", COLUMNS="100").stdout

    def test_a_value_applies_to_the_side_that_has_the_parameter(self, run, bare: Path) -> None:
        shown = run("show --diff register-tile bare.cu --tile 2 -D VALUE=5").stdout
        assert re.match(r"register-tile TILE_SIZE=2 BLOCK_SIZE=16, float32 +bare VALUE=5, float32", shown)
        both = run("show --diff naive,BLOCK_SIZE=4 tiled --block 8").stdout
        assert re.match(r"naive BLOCK_SIZE=4, float32 +tiled BLOCK_SIZE=8, float32", both)

    @pytest.mark.usefixtures("needs_nvcc")
    def test_a_side_that_does_not_compile_is_refused(self, run, bare: Path) -> None:
        run("show --diff naive bare.cu,VALUE=nothing --ptx --arch sm_80").refused(2, "bare.cu(2)", "nothing")


def apply_unified_diff(lines: list[str], diff: list[str]) -> list[str]:
    """Apply a unified diff, check its counts and its context, and return the result."""
    result: list[str] = []
    position = 0
    hunks = [i for i, line in enumerate(diff) if line.startswith("@@")]
    for begin, end in zip(hunks, [*hunks[1:], len(diff)], strict=True):
        head = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", diff[begin])
        assert head
        old, old_count, new, new_count = map(int, head.groups())
        result += lines[position : old - 1]
        position = old - 1
        assert len(result) == new - 1
        for line in diff[begin + 1 : end]:
            if line[0] in " -":
                assert lines[position] == line[1:]
                position += 1
            if line[0] in " +":
                result.append(line[1:])
        assert (position, len(result)) == (old - 1 + old_count, new - 1 + new_count)
    return result + lines[position:]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("show -m cpu-simple --ptx", ["cpu-simple", "--ptx", "--source works"]),
        ("show -m tiled,numpy --sass", ["numpy", "--sass"]),
        ("show --diff naive numpy --ptx", ["numpy", "--ptx"]),
        ("show -m tiled --ptx --sass", ["--ptx and --sass", "leave out --sass"]),
        ("show -m tild", ["did you mean tiled"]),
        ("show -m tiled --dtype float8", ["float8", "float32"]),
        ("show --kernel nowhere.cu", ["nowhere.cu"]),
        ("show -m tiled --tile 4", ["TILE_SIZE"]),
        ("show -m tiled --diff naive tiled", ["--diff and --method", "leave out --method"]),
        ("show --diff naive", ["--diff"]),
        ("show --diff naive tild", ["did you mean tiled"]),
        ("show --diff naive nowhere.cu", ["nowhere.cu"]),
        ("show --diff naive all", ["all matches"]),
        ("show --diff naive tiled --block 8,16", ["naive matches 2"]),
        ("show --diff naive tiled --tile 4", ["neither naive nor tiled", "TILE_SIZE"]),
        ("show --diff naive,PAD=1 tiled", ["PAD"]),
        ("show --diff naive tiled --resources", ["--resources"]),
        ("show --diff naive tiled --dtype float32 --dtype int32", ["--dtype"]),
        ("show --diff naive tiled --entry x", ["--entry"]),
    ],
)
def test_a_wrong_command_line_is_refused(run, line: str, words: list[str]) -> None:
    run(line).refused(2, *words)


@pytest.mark.usefixtures("needs_nvcc")
@pytest.mark.parametrize(
    ("arch", "status", "words"),
    [("sm_999", 2, ["sm_999"]), ("all", 2, ["one architecture"]), ("sm_30", 3, ["cannot compile for sm_30"])],
)
def test_an_architecture_without_code_is_refused(run, arch: str, status: int, words: list[str]) -> None:
    run(f"show -m naive --ptx --arch {arch}").refused(status, *words)
