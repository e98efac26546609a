"""Bad input: one line that says what is wrong, the exit status 2 or 3, and no launch."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from cudamm.devices.find_device import host
from cudamm.output.console import console, messages
from cudamm.tuning.tuned_store import arch_of

OTHER_PRODUCT = (
    "__global__ void other(int M, int N, int K, const float *A, const float *B, float *C) { "
    "int i = threadIdx.y, j = threadIdx.x; "
    "for (int k = 0; k < K; ++k) C[i * N + j] += A[i * K + k] * B[k * N + j]; }"
)
GRID = '--threads 16,16 --grid "ceil(N/16),ceil(M/16)"'


KERNELS = {
    "my.cu": ("", ""),
    "note.txt": ("", ""),
    "plain.cu": ("", ""),
    "broken.cu": ("float sum = 0;", "float sum = 0"),
    "two.cu": ("__global__", f"{OTHER_PRODUCT}\n__global__"),
    "typo.cu": ("// grid:", "// gird:"),
    "twice.cu": ("// threads:", "// threads: 8, 8\n// threads:"),
    "range.cu": ("= 16 in 8, 16", "= 32 in 8, 16"),
    "types.cu": ("// threads:", "// types: float33\n// threads:"),
    "undefined.cu": ("float sum = 0;", "float helper(float); float sum = helper(0);"),
}
"""Files that have the text of a correct kernel, each with a part of the text and its replacement."""

OTHER_FILES = {
    "empty.cu": b"",
    "blank.cu": b"\n \n",
    "binary.cu": bytes(range(256)),
    "nul.cu": b"int x;\0",
    "large.cu": b"// x\n" * 300_000,
    "none.cu": b"int x;\n",
    "script.py": b"def matmul(a, b, out):\n    raise ValueError\n",
}


@pytest.fixture(autouse=True)
def files(request, kernel, tmp_path):
    """Write my.cu, and the files and folders that the parameters of the test name."""
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    named = f"my.cu {parameters}"
    for name, (text, replacement) in KERNELS.items():
        if name in named:
            kernel(name, text, replacement)
    for name, content in OTHER_FILES.items():
        if name in named:
            (tmp_path / name).write_bytes(content)
    for name in ("folder", "folder.cu"):
        if name in named:
            (tmp_path / name).mkdir()
    if "plain.cu" in named:  # a kernel without a header
        plain = tmp_path / "plain.cu"
        text = plain.read_text()
        plain.write_text(text[text.index("__global__") :])


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-m tield", ["tield", "did you mean tiled"]),
        ("-m block_coarse", ["did you mean block-coarse"]),
        ("-m naive,tield", ["did you mean tiled"]),
        ("-m something-else", ["something-else", "naive", "tiled"]),
        ("-m naive,", ["“-m naive,” contains an empty method name"]),
        ("-m ''", ["empty method name"]),
        ("-m my.cu", ["my.cu is a kernel file", "--kernel my.cu"]),
        ("--kernel my.cu --requires M%16", ["“M%16” is not a condition", "M%16 == 0"]),
        *((f"-n {size}", [f"“{size}”", "1024", "640x480x320"]) for size in ("-1", "abc", "1x2", "1x2x3x4")),
        *((f"-n {size}", [f"“{size}”", "640x480x320"]) for size in ("1e3", "16²", "1.5", "x", "1x2x")),
        ("-n 0", ["“0”", "at least 1"]),
        ("-n 16x0x16", ["“16x0x16”", "at least 1"]),
        ("-n 99999999", ["99999999x99999999x99999999", "at most"]),
        ("-n 9999999999999999999", ["9999999999999999999"]),
        ("-n 16 -n abc", ["“abc”"]),
        ("-m naive --block 64", ["BLOCK_SIZE=64", "4096 threads", "1024"]),
        ("-m naive --block 8,64", ["BLOCK_SIZE=64", "4096 threads"]),
        ("-m naive --block 0", ["BLOCK_SIZE", "at least 1"]),
        ("-m naive --block -1", ["“-1”"]),
        ("-m naive --block abc", ["BLOCK_SIZE", "abc"]),
        ("-m naive --block 1.5", ["BLOCK_SIZE", "1.5"]),
        *(
            (f"-m naive --block '{v}'", [f"“{v}”", "8,16,32"])
            for v in ("", ",", "8,", "8;16", "1:", "1:2:3:4")
        ),
        *((f"-m naive --block {v}", [f"“{v}”", "range"]) for v in ("8:4", "1:32:*1", "0:32:*2", "1:32:0")),
        ("-m naive --block 1:999999999999", ["10,000"]),
        ("-m naive --block 99999999999999999999", ["99999999999999999999"]),
        ("-m naive --block 8 --block x", ["BLOCK_SIZE"]),
        ("-m naive --tile 4", ["TILE_SIZE", "naive has BLOCK_SIZE"]),
        ("-m naive -D FOO=3", ["FOO", "naive has BLOCK_SIZE"]),
        ("-m cpu-simple --block 8", ["BLOCK_SIZE", "cpu-simple has none"]),
        *((f"-m naive -D {d}", [f"-D {d}", "NAME=VALUE"]) for d in ("=3", "3=3", "A-B=3")),
        *((f"-m naive -D {d}", [f"“-D {d}” has no value (there is BLOCK_SIZE)"]) for d in ("FOO", "FOO=")),
        ("-m naive -D BLOCK_SIZE=8 --block 16", ["BLOCK_SIZE", "twice"]),
        ("-m naive -D BLOCK_SIZE=8 -D BLOCK_SIZE=16", ["BLOCK_SIZE", "twice"]),
        ("-m naive --dtype float46", ["float46", "did you mean float64?"]),
        ("-m naive --dtype float8", ["float8", "did you mean float8_e4m3?"]),
        ("-m naive --dtype fp8", ["fp8", "did you mean float8_e4m3?"]),
        ("-m naive --dtype half", ["half", "float32"]),
        ("-m naive --dtype ''", ["float32"]),
        ("-m naive --style fancy", ["fancy", "table", "report"]),
        ("-m naive --runs 0", ["--runs", "1"]),
        ("-m naive --runs many", ["--runs", "many"]),
        ("-m naive --warmup -1", ["--warmup"]),
        ("-m naive --seed -1", ["--seed"]),
        ("-m register-tile --tile 1000000", ["1000000x1000000", "at most"]),
        ("-m naive --json folder", ["--json folder", "folder"]),
        ("-m naive --json nowhere/x.json", ["nowhere/x.json", "No such file"]),
        ("-m naive --json my.cu/x.json", ["my.cu/x.json"]),
        ("-m naive --json", ["--json", "argument"]),
        ("-m", ["-m", "argument"]),
        ("--nope", ["--nope"]),
        ("--metod tiled", ["--metod", "--method"]),
        ("extra", ["extra"]),
        ("--no-fmad=3", ["--no-fmad"]),
        ("--entry sgemm", ["--entry", "--kernel"]),
        ("--args M,N --grid 1", ["--args and --grid", "--kernel"]),
        ("--shared-bytes 0", ["--shared-bytes", "--kernel"]),
        ("--kernel nowhere.cu", ["nowhere.cu", "no kernel file"]),
        ("--kernel folder.cu", ["folder.cu", "folder"]),
        ("--kernel folder", ["folder"]),
        ("--kernel empty.cu", ["empty.cu", "empty"]),
        ("--kernel blank.cu", ["blank.cu", "empty"]),
        ("--kernel binary.cu", ["binary.cu", "not text"]),
        ("--kernel nul.cu", ["nul.cu", "not text"]),
        ("--kernel large.cu", ["large.cu", "larger"]),
        ("--kernel none.cu", ["none.cu", "no __global__"]),
        ("--kernel note.txt", ["note.txt", ".cu"]),
        ("--kernel script.py", ["script.py", ".cu"]),
        ("--kernel two.cu", ["two.cu", "--entry", "mine", "other"]),
        ("--kernel typo.cu", ["typo.cu", "gird", "grid"]),
        ("--kernel twice.cu", ["twice.cu", "threads", "twice"]),
        ("--kernel range.cu", ["range.cu", "BLOCK_SIZE", "32"]),
        ("--kernel types.cu", ["types.cu", "float33", "float32"]),
        ("--kernel plain.cu", ["plain.cu", "--threads", "--grid"]),
        ("--kernel plain.cu --threads 16,16", ["plain.cu", "--grid"]),
        ("--kernel broken.cu", ["broken.cu:11:", "error"]),
        ("--kernel undefined.cu", ["undefined.cu", "helper"]),
        ("--kernel my.cu -m tield", ["did you mean tiled"]),
        ("--kernel my.cu --entry nope", ["my.cu", "nope", "mine"]),
        ("--kernel my.cu --entry row", ["my.cu", "row", "kernels found: mine"]),
        ("--kernel my.cu --args M,N", ["takes 6", "2 are given", "--args"]),
        ("--kernel my.cu --args M,N,K,A,B,C,1", ["takes 6", "7 are given", "--args"]),
        ("--kernel my.cu --args M,N,K,A,B,X", ["unknown name X"]),
        ("--kernel my.cu --args ''", ["--args is empty"]),
        ("--kernel my.cu --grid X", ["unknown name X", "BLOCK_SIZE"]),
        ("--kernel my.cu --grid '__import__(\"os\")'", ["__import__", "not arithmetic"]),
        ("--kernel my.cu --grid N.real", ["N.real", "not arithmetic"]),
        ("--kernel my.cu --grid N**9", ["not arithmetic"]),
        ("--kernel my.cu --grid '[N]'", ["not arithmetic"]),
        ("--kernel my.cu --grid 'N if M else K'", ["not arithmetic"]),
        ("--kernel my.cu --grid 'lambda: 0'", ["not arithmetic"]),
        ("--kernel my.cu --grid '(N:=3)'", ["not arithmetic"]),
        ("--kernel my.cu --grid 'max(*M)'", ["not arithmetic"]),
        ("--kernel my.cu --grid '\"a\"*9'", ["not arithmetic"]),
        ("--kernel my.cu --grid 'ceil()'", ["ceil()", "arguments"]),
        ("--kernel my.cu --grid N/0", ["zero"]),
        ("--kernel my.cu --grid N/3", ["5.33333", "ceil"]),
        ("--kernel my.cu --grid 0", ["grid is 0", "at least 1"]),
        ("--kernel my.cu --grid ''", ["grid"]),
        ("--kernel my.cu --grid 1,1,1,1", ["grid", "not 4"]),
        ("--kernel my.cu --grid 1,70000", ["70000", "65,535"]),
        ("--kernel my.cu --grid 9999999999", ["9999999999", "2,147,483,647"]),
        ("--kernel my.cu --threads 32,64", ["2048 threads", "1024"]),
        ("--kernel my.cu --threads 1,1,65", ["65", "64"]),
        ("--kernel my.cu --threads=-1", ["threads"]),
        ("--kernel my.cu --shared-bytes 1000000", ["1,000,000", "shared memory", "232,448"]),
        ("--kernel my.cu --shared-bytes=-1", ["shared-bytes"]),
        ("--kernel my.cu --shared-bytes x", ["unknown name x"]),
        ("--kernel my.cu --requires M==17", ["M==17"]),
        ("--kernel my.cu --requires M%0==0", ["M%0"]),
        ("--kernel my.cu --requires M=3", ["“M=3”", "not arithmetic"]),
        ("--kernel my.cu --grid sqrt(N)", ["sqrt(N)", "min, max, sizeof(element) and sizeof(result)"]),
        ("--kernel my.cu --requires FOO==3", ["unknown name FOO"]),
        ("--kernel my.cu --requires M%100000000000==0", ["100000000000", "at most"]),
        ("--kernel my.cu -D FOO=3", ["my.cu", "FOO"]),
        ("--kernel my.cu -D BLOCK=8,16", ["my.cu", "does not mention BLOCK"]),
        ("--kernel my.cu --tile 4", ["my.cu", "TILE_SIZE"]),
        ("--kernel my.cu --block 33", ["1089 threads"]),
        ("--kernel my.cu --dtype float64", ["float32", "float64", "element"]),
        (f"--kernel plain.cu {GRID} -D FOO=3", ["plain.cu", "FOO"]),
        (f"--kernel plain.cu {GRID} --block 16wide", ["16wide"]),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(run, launches, options, words):
    size = "" if options.startswith("-n") else "-n 16"
    run(f"bench --device cpu {size} {options}").refused(2, *words)
    assert launches == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nope", ["nope", "see cudamm --help"]),
        ("benhc", ["no such command", "(did you mean 'bench'?)", "see cudamm --help"]),
        ("bench --mehtod naive", ["no such option --mehtod (did you mean", "see cudamm bench --help"]),
        ("bench naive", ["“naive” is neither an option nor a kernel file", "with -m"]),
        ("bench -n", ["option -n requires an argument; see cudamm bench --help"]),
        ("bench -m naive --runs 0", ["--runs: 0 is not between 1 and 100000"]),
        ("bench -m naive --runs x", ["--runs: 'x' is not a whole number"]),
        ("bench -m naive --timeout 0", ["--timeout: 0.0 is not above 0 and at most 86400"]),
        ("trace -m naive --warp -1", ["--warp: -1 is not between 0 and 2147483647"]),
        *(
            (f"bench -m naive {option} {text}", [f"{option}: '{text}' is not a number"])
            for option in ("--timeout", "--max-time")
            for text in ("nan", "inf", "1e400", "1_0", "１２")
        ),
        *(
            (f"bench -m naive {option} {text}", [f"{option}: '{text[:20]}", "is not a whole number"])
            for option in ("--runs", "--warmup", "--seed")
            for text in ("1_0", "１２", "9" * 5000)
        ),
        ("bench -m naive --max-noise nan", ["“nan” is not a share"]),
        ("bench -m naive --max-noise 1_0%", ["“1_0%” is not a share"]),
        ("sweep -m naive --top 99999999999999999999", ["--top: 99999999999999999999 is not between"]),
        ("bench -m naive --seed 9223372036854775808", ["--seed: 9223372036854775808 is not between"]),
        ("roofline --peak nan --bandwidth 1", ["--peak: 'nan' is not a number"]),
        ("roofline --peak 1 --bandwidth inf", ["--bandwidth: 'inf' is not a number"]),
        ("roofline --peak 1 --bandwidth 5e-324", ["--bandwidth", "1e-06"]),
        ("roofline --arch sm_80 --clock 1e400 --bandwidth 1", ["--clock: '1e400' is not a number"]),
        ("roofline -m naive --kernel my.cu --traffic 10^400,1", ["not arithmetic"]),
        (f"roofline --peak 1 --bandwidth 1 --kernel my.cu --traffic {'9' * 400},1", ["too large"]),
        ("compare a b --fail-on nan", ["“nan” is not a share"]),
        ("tune -m naive --budget nan", ["“nan” is not a duration"]),
        ("tune -m naive --budget १s", ["is not a duration"]),
        *(
            (f"{command} --kernel my.cu {option} {'9' * 400}", ["too large"])
            for command in ("bench --device cpu -n 16", "occupancy")
            for option in ("--threads", "--grid", "--shared-bytes")
        ),
        *((f"occupancy --threads {text}", ["--threads"]) for text in ("9" * 400, "4294967297", "１２")),
        *(
            (f"occupancy --threads 32 --registers {text}", ["--registers"])
            for text in ("9" * 400, "4294967297")
        ),
        *(
            (f"occupancy --threads 32 --shared {text}", ["--shared"])
            for text in ("9" * 400, "9" * 18, "9*" * 99 + "threads")
        ),
        *(
            (f"occupancy --threads 32 --grid {text}", ["--grid"])
            for text in ("9" * 400, ",".join(["2147483647"] * 3))
        ),
        *((f"occupancy --threads 32 --ilp {text}", ["--ilp"]) for text in ("9" * 400, "9" * 18)),
        (f"occupancy --threads 32 --ilp 1 --load-cycles {'9' * 400}", ["--load-cycles"]),
        (f"trace -m naive --warp 0 --of-block {'9' * 400}", ["--of-block"]),
        (
            "bench -m tiled-padded --block 1:10000 -D PAD=1:10000",
            ["100,000,000 variants", "1,000,000"],
        ),
        ("--nope", ["--nope"]),
        ("bench --device tpu", ["tpu", "auto, cpu, gpu"]),
        ("bench --device gpu:", ["gpu:", "cpu"]),
        ("bench --device gpu:1234", ["gpu:1234"]),
        ("bench --device ''", ["cpu, gpu"]),
        ("verify --device cpu -m tield", ["did you mean tiled"]),
        ("verify --device cpu -m naive -n 0", ["“0”"]),
        ("verify --device cpu -m naive --dtype float46", ["float64"]),
        ("verify --device cpu -n 16 -m naive --json folder", ["folder"]),
        ("verify --device cpu --style report", ["--style"]),
        ("verify --device cpu -n 16 --kernel my.cu --args M,N", ["takes 6", "--args"]),
        ("devices extra", ["extra"]),
        ("occupancy -m tield", ["did you mean tiled"]),
        ("occupancy --device cpu", ["GPU"]),
        ("occupancy --grid 1", ["--grid", "--kernel"]),
    ],
)
def test_other_wrong_command_lines_are_refused_in_one_line(run, launches, line, words):
    run(line).refused(2, *words)
    assert launches == []


def test_cudamm_without_a_command_prints_the_help(run):
    result = run("")
    assert result.stdout.startswith("Usage: cudamm ")
    assert all(command in result.stdout for command in ("bench", "sweep", "verify", "occupancy", "devices"))


def test_a_syntax_error_from_a_parameters_value_names_the_kernel_file(run):
    result = run("bench --device cpu -n 16 --kernel my.cu -D sum=3")
    result.refused(2, "my.cu")
    assert "<stdin>" not in result.stderr


@pytest.mark.parametrize("command", ["bench", "verify", "sweep", "check"])
def test_a_product_without_an_error_bound_is_refused_before_the_other_sizes_run(run, launches, command):
    run(f"{command} --device cpu -m naive -n 16 -n 1x1x16777216").refused(
        2, "rounding K = 16,777,216 terms", "--dtype float64"
    )
    assert launches == []


@pytest.mark.parametrize("dtype", ["float16", "tf32", "float8_e4m3"])
def test_tensor_cores_that_cut_sums_off_have_an_error_bound_for_half_as_many_terms(run, launches, dtype):
    method = "mma-tf32" if dtype == "tf32" else "naive"
    run(f"bench --device cpu -m {method} -n 16 -n 1x1x8388608 --dtype {dtype}").refused(
        2, "rounding K = 8,388,608 terms"
    )
    assert launches == []


def test_matrices_beyond_free_memory_are_refused(run, launches, monkeypatch):
    from cudamm.devices.cpu_device import CpuDevice

    monkeypatch.setattr(CpuDevice, "free_bytes", lambda self: 10_000_000)
    run("bench --device cpu -n 1024 -m naive").refused(2, "1024x1024x1024", "free")
    run("verify --device cpu -n 16 -n 1024 -m naive").refused(2, "1024x1024x1024", "free")
    # The matrices have 16 rows and columns, and take 64 MB once they are padded.
    run("bench --device cpu -n 16 -m register-tile --tile 4096 --block 8").refused(2, "free")
    assert launches == []


@pytest.mark.parametrize("line", ["bench --device gpu:1", "tune --device gpu -m naive"])
@pytest.mark.usefixtures("no_gpu")
def test_a_missing_gpu_ends_with_3(run, line):
    run(line).refused(3, "the driver finds no GPU", "--device cpu")


@pytest.mark.parametrize("command", ["bench", "verify"])
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("CXX", "nonexistent", ["nonexistent", "install"]),
        ("CXX", "  ", ["$CXX is blank"]),
        ("CXX", "g++ 'x", ["$CXX is g++ 'x", "no closing quotation"]),
        ("CXX", "/", ["$CXX is /, which was not found"]),
        ("PATH", "", ["C++", "g++"]),
    ],
)
def test_a_missing_compiler_ends_with_3(run, setenv, command, name, value, words):
    setenv(name, value)
    run(f"{command} --device cpu -n 16 -m naive").refused(3, *words)


def test_numpy_needs_no_compiler(run, setenv):
    setenv("CXX", "nonexistent")
    result = run("bench --device cpu -n 16 -m numpy --runs 1 --times --warmup 0")
    assert result.status == 0 and "✓" in result.stdout


def test_a_compiler_that_fails_ends_with_3(run, setenv, tmp_path):
    broken = tmp_path / "c++"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    setenv("CXX", str(broken))
    run("bench --device cpu -n 16 -m naive").refused(3, str(broken))


def test_a_cache_folder_that_cannot_be_made_ends_with_3(run, setenv, tmp_path):
    setenv("CUDAMM_CACHE", str(tmp_path / "my.cu" / "cache"))  # my.cu is a file
    run("bench --device cpu -n 16 -m naive").refused(3, "CUDAMM_CACHE")


@pytest.mark.parametrize("columns", ["²", "0", "-7", "x", "2000000000", "9" * 30, ""])
def test_an_impossible_width_of_the_terminal_is_ignored(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", columns)
    for made in (console(), messages()):
        assert 20 <= made.width < 10_000


FORMS = "--csv out.csv --markdown out.md --svg out.svg"


def assert_readable(folder):
    """Assert that the files that `FORMS` names are UTF-8 without control characters, and the picture XML."""
    for name in ("out.csv", "out.md", "out.svg"):
        text = (folder / name).read_bytes().decode()
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", text)
    ElementTree.fromstring((folder / "out.svg").read_text())  # noqa: S314 - cudamm wrote it


@pytest.mark.slow
@pytest.mark.sampled(3, first=2)
@pytest.mark.parametrize("name", ["\udcff.cu", "ä★\n.cu", 'e\x1b[31m\x07q"\\.cu'])
def test_any_file_name_gives_readable_tables_and_files(run, kernel, tmp_path, name):
    (tmp_path / "my.cu").rename(tmp_path / name)
    options = f"--runs 1 --times --warmup 0 --json out.json {FORMS}"
    result = run(f"bench --device cpu -n 16 {options} --kernel {shlex.quote(name)}")
    assert (result.status, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout and "✓" in result.stdout
    assert_readable(tmp_path)
    assert run(f"report out.json --no-occupancy -o out.html {FORMS}").status == 0
    assert_readable(tmp_path)
    assert "\x1b" not in (tmp_path / "out.html").read_bytes().decode()


@pytest.mark.long
def test_a_name_in_another_alphabet_works_in_a_locale_without_it(spawn, tmp_path):
    (tmp_path / "my.cu").rename(tmp_path / "ä★.cu")
    command = f"verify --device cpu -n 16 --dtype float32 --kernel ä★.cu --json ä.json {FORMS}"
    result = spawn(command, LC_ALL="POSIX", PYTHONUTF8="0")
    assert (result.status, result.stderr) == (0, "")
    assert_readable(tmp_path)
    assert (tmp_path / "ä.json").exists()


@pytest.mark.parametrize("text", ["\ud800", "\x1b[31m\x00\x9b1m\ufffe", "<&\"'>\r\n\u2028"])
def test_any_text_in_results_gives_readable_tables_and_files(run, tmp_path, text):
    assert run("bench --device cpu -n 16 -m numpy --runs 2 --times --warmup 0 --json r.json").status == 0
    document = json.loads((tmp_path / "r.json").read_text())
    (row,) = document["results"]
    document["device"]["name"] += text
    document["environment"]["command"].append(text)
    row |= {"method": f"m{text}", "params": {f"P{text}": f"v{text}"}, "execution": "gpu", "gflops": 5.0}
    document["results"].append(row | {"method": f"f{text}", "status": "failed", "reason": text})
    (tmp_path / "r.json").write_text(json.dumps(document))
    for line in ("report r.json --no-occupancy -o out.html", "compare r.json r.json"):
        result = run(f"{line} {FORMS}")
        assert result.status in (0, 2) and "\x1b" not in result.stdout + result.stderr
        if result.status == 0:
            assert_readable(tmp_path)


def test_a_removed_current_folder_is_named_in_one_line(run, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    run("bench --device cpu -n 16 -m numpy --json x.json").refused(2, "the current folder was removed")
    assert run("list -m naive").status == 0
    assert run("bench --help").status == 0


@pytest.mark.long
def test_a_plot_does_not_depend_on_the_backend_for_windows(spawn, tmp_path):
    result = spawn(
        "roofline --peak 1 --bandwidth 1 -m naive --plot out.png",
        MPLBACKEND="no_such_backend",
    )
    assert (result.status, result.stderr) == (0, "")
    assert (tmp_path / "out.png").stat().st_size


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("bench --kernel zero.cu", "zero.cu is not a regular file"),
        ("show --diff pipe.cu naive", "pipe.cu is not a regular file"),
        ("trace --compare sparse.cu naive", "sparse.cu is larger than 1,048,576 bytes"),
        ("report zero.json", "zero.json is larger than"),
        ("compare sparse.json sparse.json", "sparse.json is larger than"),
        ("bench -m numpy --device cpu --resume pipe.json", "pipe.json is not a regular file"),
        ("bench -m numpy --device cpu --resume killed.json", "killed.json.journal is not a regular file"),
        ("tune --list --device cpu", "tuned.json is not a regular file"),
    ],
)
def test_no_file_is_read_without_bound(run, tmp_path, monkeypatch, line, words):
    monkeypatch.setenv("CUDAMM_DATA", str(tmp_path))
    for name in ("zero.cu", "zero.json", "tuned.json"):
        (tmp_path / name).symlink_to("/dev/zero")
    for name in ("pipe.cu", "pipe.json", "killed.json.journal"):
        os.mkfifo(tmp_path / name)
    for name in ("sparse.cu", "sparse.json"):
        with (tmp_path / name).open("wb") as sparse:
            sparse.truncate(10 << 30)
    monkeypatch.setattr("cudamm.benchmark.result_file.LARGEST_FILE_BYTES", 1 << 20)
    run(line).refused(2, words)


def test_results_may_come_through_a_pipe(run, tmp_path):
    assert run("bench --device cpu -n 16 -m numpy --runs 2 --times --warmup 0 --json r.json").status == 0
    reader, writer = os.pipe()
    os.write(writer, (tmp_path / "r.json").read_bytes())
    os.close(writer)
    result = run(f"report /dev/fd/{reader} --csv -")
    os.close(reader)
    assert result.status == 0 and "numpy" in result.stdout


def entry_of_the_store(text):
    """Return an entry of the store for the CPU device with a text in the fields that may have any."""
    info = host().info
    return {
        "device": info.name, "arch": arch_of(info), "method": f"m{text}", "source": text, "dtype": "float32",
        "m": 8, "n": 8, "k": 8, "params": {f"P{text}": f"v{text}"}, "median_ms": 0.5, "cache": "hot",
        "confirmed": True, "complete": True, "tried": 1, "possible": 1, "date": text, "kernel": "",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["\ud800", "\x1b[31m\x00\x9b1m\ufffe"])
def test_any_text_in_the_store_of_parameters_gives_readable_tables_and_files(
    run, tmp_path, monkeypatch, text
):
    monkeypatch.setenv("CUDAMM_DATA", str(tmp_path))
    document = {"schema": "cudamm.tuned/1", "entries": [entry_of_the_store(text)]}
    (tmp_path / "tuned.json").write_text(json.dumps(document))
    result = run(f"tune --list --device cpu {FORMS}")
    assert (result.status, "\x1b" in result.stdout + result.stderr) == (0, False)
    assert_readable(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        f"occupancy --threads 1:{'9' * 400}:*2",
        f"occupancy --threads 32 --shared 1:{'9' * 400}:*2",
        f"occupancy --threads 32 --registers 1:{2**64}:*2",
        f"roofline --peak 1 --bandwidth 1 --kernel my.cu --traffic {'9' * 400},1 --plot -",
    ],
    ids=lambda line: line[:35],
)
def test_numbers_of_more_than_64_bits_are_refused(run, kernel, line):
    kernel()
    run(line).refused(2)


@pytest.mark.usefixtures("needs_nvcc")
@pytest.mark.parametrize("option", ["--threads", "--grid", "--shared-bytes"])
def test_a_suggestion_for_a_launch_of_more_than_64_bits_is_refused(run, kernel, option):
    kernel()
    run(f"occupancy --arch sm_90 --kernel my.cu --block 8 {option} {2**64} --suggest").refused(2, "too large")


def test_an_inaccessible_current_folder_is_named_in_one_line(run, monkeypatch):
    def getcwd():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "getcwd", getcwd)
    monkeypatch.setattr(Path, "cwd", staticmethod(getcwd))  # that of Python 3.10 has its own os.getcwd
    run("bench --device cpu -n 16 -m numpy --json x.json").refused(
        2, "the current folder", "cannot be entered"
    )


@pytest.mark.parametrize(
    "line",
    [
        "occupancy -m persistent -D BLOCKS=0",
        "occupancy --gpu h100 -m persistent -D BLOCKS=0,132",
        "show -m persistent -D BLOCKS=0",
        "roofline --gpu rtx3090 -m persistent -D BLOCKS=0",
        "bench --device cpu -n 64 -m naive,persistent -D BLOCKS=0",
        "trace -m persistent -D BLOCKS=0",
    ],
)
def test_a_parameter_that_leaves_no_blocks_is_refused_before_anything_else(run, launches, line):
    run(line).refused(2, "persistent BLOCKS=0: the grid has 0 blocks; a launch needs at least 1")
    assert launches == []


def test_a_formula_that_leaves_no_blocks_is_named(run, kernel):
    path = kernel("few.cu", "ceil(N / BLOCK_SIZE), ceil(M / BLOCK_SIZE)", "BLOCK_SIZE // 9")
    run(f"bench --device cpu --kernel {path} --block 8 -n 16").refused(
        2, "few BLOCK_SIZE=8: the grid has 0 blocks (grid: BLOCK_SIZE // 9)"
    )
