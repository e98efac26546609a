"""`cudamm check`: its output, files and exit status, and compute-sanitizer, replaced by a script."""

from __future__ import annotations

import csv
import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from cudamm.analysis import sanitizer
from cudamm.analysis.sanitizer import TOOLS
from cudamm.devices.device import Device, DeviceInfo
from cudamm.devices.find_device import host
from cudamm.devices.gpu_device import GpuTarget
from cudamm.errors import CudammError, KernelError, NoDeviceError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.process_protocol import Failure, Success
from cudamm.kernels.architecture import find_architecture

MISTAKES = Path(__file__).parents[1] / "example_kernels" / "mistakes"
RACE = f"check --kernel {MISTAKES / 'no_first_barrier.cu'} --block 8 "


def test_a_race_is_explained_and_ends_with_1(run):
    result = run(RACE + "-n 20x16x24")
    assert result.status == 1 and result.stderr == ""
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert lines[0].startswith(
        "no-first-barrier BLOCK_SIZE=8, float32 at 20x16x24: 1 error: a __syncthreads() is missing in "
        "no_first_barrier.cu: put __syncthreads() between line 17, which writes, and line 19, which reads"
    )
    assert lines[1] == "error: race, no_first_barrier.cu:19"
    assert lines[2] == "sum += subA[ty][k] * subB[k][tx];"
    assert "of block (0,0) writes sub" in lines[3] and "reads it in line 19" in lines[3]
    assert lines[4].startswith("Cure: put __syncthreads() between line 1")
    assert "0 of 1 variants passed." in lines


def test_kernels_without_mistakes_are_clean_and_get_advice(run):
    result = run("check -m naive,tiled --block 32 -n 64 -n 33x17x5")
    assert result.status == 0
    assert (
        "naive BLOCK_SIZE=32, float32 at 2 sizes: clean, 2 pieces of advice, counted at 64x64x64"
        in result.stdout
    )
    assert (
        "advice: uncoalesced, 04_naive.cu:" in result.stdout
        and "neighbouring elements of a row" in result.stdout
    )
    assert "tiled BLOCK_SIZE=32, float32 at 2 sizes: clean\n" in result.stdout
    assert "2 of 2 variants are clean. Success!" in result.stdout and "numpy" not in result.stdout


@pytest.mark.slow
def test_the_default_sizes_are_awkward_ones_and_a_larger_one(run):
    document = json.loads(run("check -m tiled --block 16 --json -").stdout)
    (checked,) = document["checked"]
    assert {"1x1x1", "17x31x13", "96x128x64"} <= set(checked["sizes"]) and checked["status"] == "clean"
    assert document["results"] == []


def test_the_json_document_describes_a_race(run):
    document = json.loads(run(RACE + "-n 20x16x24 -n 8 --json -").stdout)
    assert document["schema"] == "cudamm.check/1" and document["device"]["kind"] == "cpu"
    (checked,) = document["checked"]
    assert (checked["method"], checked["status"], checked["errors"]) == ("no-first-barrier", "wrong", 1)
    assert checked["blocks_watched"] == {"20x16x24": [6, 6], "8x8x8": [1, 1]}
    race = document["results"][0]
    assert (race["kind"], race["severity"], race["file"], race["line"]) == (
        "race", "error", "no_first_barrier.cu", 19,
    )  # fmt: skip
    assert (race["method"], race["params"], race["dtype"]) == (
        "no-first-barrier",
        {"BLOCK_SIZE": 8},
        "float32",
    )
    assert (race["m"], race["n"], race["k"], race["sizes"]) == (20, 16, 24, ["20x16x24", "8x8x8"])
    assert race["array"] in ("subA", "subB") and race["element"].startswith(race["array"] + "[")
    assert race["count"] > 1 and race["message"] and race["cure"]
    store, load = race["threads"]
    assert (store["op"], load["op"], load["line"]) == ("store", "load", 19)
    assert store["block"] == load["block"] == [0, 0, 0] and store["thread"] != load["thread"]
    assert [mistake["kind"] for mistake in document["results"] if mistake["severity"] == "error"] == ["race"]


def test_csv_markdown_and_svg_files_contain_the_race(run, tmp_path: Path):
    result = run(RACE + "-n 8 --csv f.csv --markdown f.md --svg f.svg -q")
    assert result.status == 1 and result.stderr == ""
    rows = list(csv.DictReader((tmp_path / "f.csv").read_text().splitlines()))
    assert [row["kind"] for row in rows] == ["race"]
    assert rows[0]["params.BLOCK_SIZE"] == "8" and "block (0,0,0) thread (" in rows[0]["threads"]
    assert "error: race, no_first_barrier.cu:19" in (tmp_path / "f.md").read_text()
    assert "no_first_barrier.cu:19" in (tmp_path / "f.svg").read_text()


def test_verbose_prints_each_step(run):
    assert run("check -m tiled --block 8 -n 8 -v").stderr.count(" of ") >= 2


def test_an_architecture_limits_shared_memory(run):
    result = run("check -m tiled-dynamic --block 64 -n 64 --arch sm_10")
    assert result.status == 1
    for words in ("shared-memory-limit", "32,768 bytes", "16,384"):
        assert words in result.stdout


@pytest.mark.long
def test_an_endless_kernel_costs_only_its_row(run, write_kernel):
    write_kernel(
        '// x.\n//\n// threads: 1\n// grid: 1\n\nextern "C" int pause();\n\n'
        "__global__ void k(int M, int N, int K, const float *A, const float *B, float *C) {\n"
        "    for (;;) pause();\n}\n",
        "endless.cu",
    )
    result = run("check --kernel endless.cu -m tiled --block 8 -n 8 -n 7 -n 9 --timeout 1 --json -")
    endless = next(c for c in json.loads(result.stdout)["checked"] if c["method"] == "endless")
    assert [skipped["reason"] for skipped in endless["skipped"]] == ["not run: it hung at 8x8x8"] * 2
    result = run("check --kernel endless.cu -m tiled --block 8 -n 8 --timeout 1")
    assert result.status == 1
    assert "error: crash, endless.cu" in result.stdout and "no answer within 1 s" in result.stdout.lower()
    assert "1 of 2 variants are clean." in result.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-m numpy", ["host methods"]),
        ("-m naive,numpy", ["numpy: host methods"]),
        ("-m tild", ["did you mean tiled"]),
        ("-m tiled --device gpu", ["--with compute-sanitizer"]),
        ("-m tiled --device cpu --with compute-sanitizer", ["needs a GPU"]),
        ("-m tiled --with valgrind", ["compute-sanitizer"]),
        ("-m tiled --arch sm_1000", ["unknown architecture"]),
        ("-m tiled --dtype int4", ["unknown element type"]),
        ("-m tiled -n 0", ["at least 1"]),
        ("-m tiled --json f --csv f", ["--json and --csv"]),
        ("--kernel nowhere.cu", ["no kernel file"]),
    ],
)
def test_a_wrong_command_line_is_refused(run, line, words):
    run(f"check {line}").refused(2, *words)


def test_a_file_that_does_not_compile_is_refused(run, kernel):
    kernel("broken.cu", "float sum = 0;", "float sum = oops;")
    run("check --kernel broken.cu -n 8").refused(2, "broken.cu", "oops")


def test_compute_sanitizer_needs_a_gpu(run, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    run("check -m tiled -n 8 --with compute-sanitizer").refused(3, "GPU", "leave out --with")


class _Gpu(GpuTarget, Device[Any]):
    """A device that has the type and the kind of a GPU."""

    def __init__(self) -> None:
        info = DeviceInfo("gpu", "gpu:0", "a test's GPU", {})
        super().__init__(info, host().limits, find_architecture("sm_80"))

    def compile(self, program: Any) -> Any:
        raise AssertionError("compiled in this process, not in the one under the tool")

    def open(self, *arguments: Any) -> Any:
        raise AssertionError("launched in this process, not in the one under the tool")

    def free_bytes(self) -> int:
        return host().free_bytes()


CLEAN = dict.fromkeys(TOOLS, "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n") | {
    "racecheck": "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
}
HAZARD = (
    "========= Error: Race reported between Write access at k(float *)+0x90 in no_first_barrier.cu:16\n"
    "=========     and Read access at k(float *)+0x100 in no_first_barrier.cu:19 [508 hazards]\n"
    "=========\n========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"
)


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch, run: Any, tmp_path: Path) -> Any:
    """Return a function that runs a command line as on a machine with a GPU and a compute-sanitizer.

    The tool is a script. It prints the text that `prints` has for its option --tool.
    """
    folder = tmp_path / "made-up"
    folder.mkdir()
    monkeypatch.setattr(
        "cudamm.execution.worker_executor.WorkerExecutor",
        lambda spec, timeout_s: InProcessExecutor(host() if spec == "cpu" else _Gpu()),
    )

    def run_there(line: str, prints: dict[str, str], outcome: Any = None, body: str = "") -> Any:
        answer = Failure(outcome) if isinstance(outcome, CudammError) else Success(outcome)
        (folder / "outcome").write_bytes(pickle.dumps(answer))
        (folder / "prints").write_text(json.dumps(prints))
        tool = folder / "compute-sanitizer"
        tool.write_text(
            f"#!{sys.executable} -IS\nimport json, os, shutil, sys, time\nargv = sys.argv\n"
            f"with open({str(folder / 'commands')!r}, 'a') as f: print(json.dumps(argv[1:]), file=f)\n"
            f"{body}\n"
            f"shutil.copy({str(folder / 'outcome')!r}, argv[-2])\n"
            f"print(json.load(open({str(folder / 'prints')!r}))[argv[argv.index('--tool') + 1]])\n"
        )
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
        return run(line + " --with compute-sanitizer")

    return run_there


def test_each_tool_of_compute_sanitizer_gives_a_verdict(on_gpu, tmp_path: Path):
    result = on_gpu("check -m tiled --block 8 -n 8 -n 24", CLEAN)
    assert result.status == 0, result.stdout + result.stderr
    for tool in TOOLS:
        assert f"compute-sanitizer {tool} at 24x24x24: 0 errors" in result.stdout
    commands = [json.loads(line) for line in (tmp_path / "made-up" / "commands").read_text().splitlines()]
    assert [line[line.index("--tool") + 1] for line in commands] == list(TOOLS)
    for line in commands:
        assert line[line.index("--target-processes") + 1] == "all"
        assert line[line.index("--kernel-name") + 1] == "kernel_substring=tiled"
        assert sys.executable in line and line[-4] == "cudamm.analysis.sanitizer"


def test_an_error_that_a_tool_finds_counts(on_gpu):
    result = on_gpu("check -m tiled --block 8 -n 8", CLEAN | {"racecheck": HAZARD})
    assert result.status == 1 and "8x8x8: clean" in result.stdout
    assert "compute-sanitizer racecheck at 8x8x8: 1 error" in result.stdout
    assert (
        "no_first_barrier.cu:16 and Read access" in result.stdout
        and "0 of 1 variants passed." in result.stdout
    )
    (checked,) = json.loads(
        on_gpu("check -m tiled --block 8 -n 8 --json -", CLEAN | {"racecheck": HAZARD}).stdout
    )["checked"]
    assert [(v["tool"], v["errors"]) for v in checked["compute_sanitizer"]] == [
        (tool, int(tool == "racecheck")) for tool in TOOLS
    ]


def test_a_tool_without_a_summary_gives_no_verdict(on_gpu):
    result = on_gpu("check -m tiled --block 8 -n 8", dict.fromkeys(TOOLS, "oops: broken"))
    assert result.status == 1 and result.stdout.count("no verdict: oops: broken") == 4
    result = on_gpu("check -m tiled --block 8 -n 8", CLEAN, outcome=KernelError("launch failed: 700"))
    assert result.status == 1 and "no verdict: launch failed: 700" in result.stdout


def test_a_tool_that_hangs_is_killed_after_the_timeout(on_gpu):
    result = on_gpu("check -m tiled --block 8 -n 8 --timeout 0.1", CLEAN, body="time.sleep(30)")
    assert result.status == 1 and result.stdout.count("no answer within 0.1 s") == 4


@pytest.mark.parametrize(
    ("prints", "outcome", "words"),
    [
        ("========= Error: Device not supported. Please refer to the documentation", None, ["not supported"]),
        ("", NoDeviceError("no GPU answers"), ["no GPU answers"]),
    ],
)
def test_a_tool_that_cannot_be_used_ends_with_3(on_gpu, prints, outcome, words):
    on_gpu("check -m tiled --block 8 -n 8", dict.fromkeys(TOOLS, prints), outcome).refused(3, *words)


def test_a_missing_tool_ends_with_3_and_says_where_to_get_it(on_gpu, run, monkeypatch):
    def find_nothing():
        raise NoDeviceError(sanitizer.WHERE_TO_GET_IT)

    monkeypatch.setattr(sanitizer, "find_compute_sanitizer", find_nothing)
    run("check -m tiled -n 8 --with compute-sanitizer").refused(3, "CUDA toolkit", "apt", "conda")
