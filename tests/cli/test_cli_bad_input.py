"""Bad input: one clear line that says what to do, the right exit status, and nothing launched."""

from __future__ import annotations

import stat

import pytest

GRID = '--threads 16,16 --grid "ceil(N/16),ceil(M/16)"'


@pytest.fixture(autouse=True)
def files(kernel, tmp_path):
    """The files that the command lines below name."""
    kernel()
    kernel("broken.cu", "float sum = 0;", "float sum = 0")
    kernel("two.cu", "__global__", "__global__ void other(float *C) {}\n__global__")
    kernel("typo.cu", "// grid:", "// gird:")
    kernel("twice.cu", "// threads:", "// threads: 8, 8\n// threads:")
    kernel("range.cu", "= 16 in 8, 16", "= 32 in 8, 16")
    kernel("types.cu", "// threads:", "// types: float33\n// threads:")
    kernel("undefined.cu", "__global__", "__device__ float helper(float);\n__global__")
    text = (tmp_path / "undefined.cu").read_text().replace("= sum;", "= helper(sum);")
    (tmp_path / "undefined.cu").write_text(text)
    plain = (tmp_path / "my.cu").read_text()
    (tmp_path / "plain.cu").write_text(plain[plain.index("__global__") :])
    (tmp_path / "empty.cu").write_text("")
    (tmp_path / "blank.cu").write_text("\n \n")
    (tmp_path / "binary.cu").write_bytes(bytes(range(256)))
    (tmp_path / "nul.cu").write_bytes(b"int x;\0")
    (tmp_path / "large.cu").write_text("// x\n" * 300_000)
    (tmp_path / "none.cu").write_text("int x;\n")
    (tmp_path / "note.txt").write_text(plain)
    (tmp_path / "script.py").write_text("def matmul(a, b, out):\n    raise ValueError\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.cu").mkdir()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-m tield", ["tield", "did you mean tiled"]),
        ("-m block_coarse", ["did you mean block-coarse"]),
        ("-m naive,tield", ["did you mean tiled"]),
        ("-m something-else", ["something-else", "naive", "tiled"]),
        ("-m naive,", ["unknown method"]),
        ("-m ''", ["unknown method"]),
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
        ("-m naive --block 1:999999999999", ["10000"]),
        ("-m naive --block 99999999999999999999", ["99999999999999999999"]),
        ("-m naive --block 8 --block x", ["BLOCK_SIZE"]),
        ("-m naive --tile 4", ["TILE_SIZE", "naive has BLOCK_SIZE"]),
        ("-m naive -D FOO=3", ["FOO", "naive has BLOCK_SIZE"]),
        ("-m cpu-simple --block 8", ["BLOCK_SIZE", "cpu-simple has none"]),
        *((f"-m naive -D {d}", [f"-D {d}", "NAME=VALUE"]) for d in ("FOO", "=3", "FOO=", "3=3", "A-B=3")),
        ("-m naive -D BLOCK_SIZE=8 --block 16", ["BLOCK_SIZE", "twice"]),
        ("-m naive -D BLOCK_SIZE=8 -D BLOCK_SIZE=16", ["BLOCK_SIZE", "twice"]),
        ("-m naive --dtype float46", ["float46", "did you mean float64?"]),
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
        ("bench naive", ["“naive” belongs to no option", "with -m", "see cudamm bench --help"]),
        ("bench -n", ["option -n requires an argument; see cudamm bench --help"]),
        ("bench -m naive --runs 0", ["--runs: 0 is not between 1 and 100000"]),
        ("bench -m naive --runs x", ["--runs: 'x' is not a whole number"]),
        ("bench -m naive --timeout 0", ["--timeout: 0.0 is not above 0 and at most 86400"]),
        ("trace -m naive --warp -1", ["--warp: -1 is less than 0"]),
        ("benhc", ["benhc", "bench"]),
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
def test_other_commands_refuse_in_one_line_too(run, launches, line, words):
    run(line).refused(2, *words)
    assert launches == []


def test_no_command_prints_the_help(run):
    result = run("")
    assert result.stdout.startswith("Usage: cudamm ")
    assert all(command in result.stdout for command in ("bench", "sweep", "verify", "occupancy", "devices"))


def test_a_value_that_breaks_the_file_is_not_blamed_on_another_file(run):
    result = run("bench --device cpu -n 16 --kernel my.cu -D sum=3")
    result.refused(2, "my.cu")
    assert "<stdin>" not in result.stderr


def test_matrices_beyond_free_memory_are_refused(run, launches, monkeypatch):
    from cudamm.devices.cpu_device import CpuDevice

    monkeypatch.setattr(CpuDevice, "free_bytes", lambda self: 10_000_000)
    run("bench --device cpu -n 1024 -m naive").refused(2, "1024x1024x1024", "free")
    run("verify --device cpu -n 16 -n 1024 -m naive").refused(2, "1024x1024x1024", "free")
    # Small as asked for, 64 MB once padded: it is the padded matrices that have to fit.
    run("bench --device cpu -n 16 -m register-tile --tile 4096 --block 8").refused(2, "free")
    assert launches == []


def test_a_gpu_that_is_not_there(spawn):
    for device in ("gpu", "gpu:0", "gpu:1"):
        spawn(f"bench --device {device} -n 16").refused(3, "--device cpu")


@pytest.mark.parametrize("command", ["bench", "verify"])
def test_no_compiler(spawn, tmp_path, command):
    empty = str(tmp_path / "cache")
    spawn(f"{command} --device cpu -n 16 -m naive", CXX="nonexistent").refused(3, "nonexistent", "install")
    spawn(f"{command} --device cpu -n 16 -m naive", PATH="", CUDAMM_CACHE=empty).refused(3, "C++", "g++")


def test_numpy_needs_no_compiler(spawn):
    result = spawn("bench --device cpu -n 16 -m numpy --warmup 0", CXX="nonexistent")
    assert result.status == 0 and "✓" in result.stdout


def test_a_compiler_that_does_not_work_is_no_compiler(spawn, tmp_path):
    broken = tmp_path / "c++"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    result = spawn("bench --device cpu -n 16 -m naive", CXX=str(broken), CUDAMM_CACHE=str(tmp_path / "cache"))
    result.refused(3, str(broken))


def test_a_cache_that_cannot_be_made(spawn, tmp_path):
    blocked = tmp_path / "my.cu" / "cache"  # a file stands where its folder would be
    spawn("bench --device cpu -n 16 -m naive", CUDAMM_CACHE=str(blocked)).refused(3, "CUDAMM_CACHE")


def test_a_file_name_that_is_not_utf_8_is_no_traceback(run, kernel, tmp_path):
    (tmp_path / "my.cu").rename(tmp_path / "\udcff.cu")
    result = run("bench --device cpu -n 16 --warmup 0 --kernel \udcff.cu")
    assert "Traceback" not in result.stderr
    assert result.status in (0, 2)
