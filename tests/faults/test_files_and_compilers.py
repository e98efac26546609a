"""Results files, the cache folder and the compiler fail, each in turn."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import stat
import time
from pathlib import Path

import pytest

FAULTS = Path(__file__).with_name("faults.cu")
BENCH = "bench --device cpu -n 32 --runs 2 --warmup 0 --times -m tiled,coalesced --block 8 --json out.json "
SIZES = (24, 28, 32, 36)
SWEEP = (
    f"sweep --device cpu {' '.join(f'-n {size}' for size in SIZES)} --kernel {FAULTS} -D FAULT=0,99 "
    "--block 8 --full --runs 40 --warmup 2 --times --resume all.json"
)
SWEEP_ROWS = len(SIZES) * 2
KILLS = 2
SEED = int(os.environ.get("CUDAMM_FAULT_SEED", "20261121"))


def samples_by_case(rows):
    """Return the samples of each row by its size and its parameters, which have to differ from row to row."""
    samples = {(row["m"], *row["params"].values()): row["samples_ms"] for row in rows}
    assert len(samples) == len(rows)
    return samples


def correct_variants(rows):
    return {(row["method"], row["k"]) for row in rows if row["status"] == "ok"}


@pytest.mark.long
def test_a_sweep_killed_at_random_moments_keeps_each_row_it_has_written(workspace):
    moments, samples, kills = random.Random(SEED), {}, 0  # noqa: S311
    results = workspace.folder / "all.json"
    while kills < KILLS:
        process = workspace.start(SWEEP)
        workspace.wait_for_rows(process, more_than=len(samples), name=results.name)
        time.sleep(moments.uniform(0, 0.1))
        process.kill()
        kills += process.wait() == -signal.SIGKILL
        process.communicate()
        workspace.assert_no_process_runs()
        read_rows = workspace.rows if results.exists() else workspace.journal_rows
        rows = read_rows(results.name)
        assert samples.items() <= samples_by_case(rows).items()
        samples = samples_by_case(rows)
        if len(samples) == SWEEP_ROWS:  # the next sweep begins again
            results.unlink(missing_ok=True)
            Path(f"{results}.journal").unlink(missing_ok=True)
            samples = {}
    completed = workspace.run(SWEEP)
    assert completed.status == 0, completed.stderr
    rows = workspace.rows("all.json")
    assert len(rows) == SWEEP_ROWS and all(row["status"] == "ok" for row in rows)
    assert samples.items() <= samples_by_case(rows).items()
    workspace.assert_nothing_left()


# A process that sends itself a signal when it has replaced out.json or its journal so many times.
SIGNAL_AFTER_REPLACEMENTS = """
import os, signal
from pathlib import Path
inner, calls = Path.replace, []
def outer(self, target):
    inner(self, target)
    if "out.json" in str(target):
        calls.append(1)
    if len(calls) == {}:
        os.kill(os.getpid(), signal.{})
Path.replace = outer
"""


@pytest.mark.long
def test_a_resumed_run_that_ends_while_it_takes_over_old_rows_loses_none(workspace):
    # At K = 123 the kernel is wrong, so the resumed run measures it again.
    bench = BENCH + f"-n 32x32x123 --kernel {FAULTS} -D FAULT=100 "
    assert workspace.run(bench).status == 1
    results = workspace.folder / "out.json"
    old_text, old_rows = results.read_text(), workspace.rows()
    # The first file that is replaced is the journal, the second is the results file.
    for replacements, signal_name in ((1, "SIGKILL"), (2, "SIGKILL"), (1, "SIGTERM")):
        results.write_text(old_text)
        Path(f"{results}.journal").unlink(missing_ok=True)
        prefix = SIGNAL_AFTER_REPLACEMENTS.format(replacements, signal_name)
        completed = workspace.run(bench + "--resume out.json", prefix=prefix)
        assert "Traceback" not in completed.stderr
        rows = workspace.journal_rows() or workspace.rows()
        assert correct_variants(rows) >= correct_variants(old_rows)


@pytest.mark.slow
def test_a_second_run_over_one_file_is_refused(workspace):
    sleeping = f"bench --device cpu -n 32x32x133 --kernel {FAULTS} -D FAULT=100 --json out.json"
    first = workspace.start(sleeping)
    lock, deadline = workspace.folder / ".out.json.lock", time.monotonic() + 20
    while not (lock.exists() and lock.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    second = workspace.run(BENCH.replace("--json", "--resume"))
    assert (second.status, second.stdout, len(second.stderr_lines)) == (2, "", 1)
    refusal = f"another run of cudamm (process {first.pid}) is writing this file"
    assert refusal in second.stderr_lines[0]
    first.send_signal(signal.SIGINT)
    assert workspace.wait_for(first).status == 128 + signal.SIGINT
    workspace.assert_nothing_left()


# Limits the size of files of this process once its worker runs: the memory of a kernel is a file too.
FILE_SIZE_LIMIT = """
import resource, signal
from cudamm.cli.session import LiveSession
inner = LiveSession.collect
def outer(self, measure, **named):
    def limited(report_progress):
        for number, result in enumerate(measure(report_progress)):
            if number == 0:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))
            yield result
    inner(self, limited, **named)
LiveSession.collect = outer
"""


@pytest.mark.long
def test_a_full_disk_leaves_the_old_file_and_the_rows_that_fit(workspace):
    results = workspace.folder / "out.json"
    assert workspace.run(BENCH).status == 0  # compiles what the limited runs need
    for limit_bytes, rows_that_fit in ((0, 0), (1900, 1)):
        old = results.read_text()
        completed = workspace.run(BENCH, prefix=FILE_SIZE_LIMIT.format(limit_bytes))
        assert completed.status != 0 and "Traceback" not in completed.stderr
        assert completed.stdout.count("✓") == 2
        assert completed.stderr_lines == ["cudamm: --json out.json: it cannot be written (File too large)"]
        assert results.read_text() == old
        assert len(workspace.journal_rows()) == rows_that_fit
        workspace.assert_nothing_left()
    assert workspace.run(BENCH + "--resume out.json").status == 0
    assert len(workspace.rows()) == 2 and workspace.journal_rows() == []


def drop_right_to_write_read_only_files() -> None:
    """Drop root's capability to ignore the permissions of files, for the program that is executed next."""
    if os.geteuid() == 0:
        pr_capbset_drop, cap_dac_override = 24, 1
        assert ctypes.CDLL(None).prctl(pr_capbset_drop, cap_dac_override) == 0


@pytest.mark.slow
def test_a_read_only_results_file_is_refused_and_not_changed(workspace):
    results = workspace.folder / "out.json"
    results.write_text("old")
    results.chmod(stat.S_IRUSR)
    completed = workspace.run(BENCH, preexec_fn=drop_right_to_write_read_only_files)
    assert (completed.status, completed.stdout, len(completed.stderr_lines)) == (2, "", 1)
    assert "out.json: it cannot be written (Permission denied)" in completed.stderr_lines[0]
    assert results.read_text() == "old"
    assert [path.name for path in workspace.folder.iterdir()] == ["out.json"]


def test_a_read_only_cache_folder_is_refused(workspace):
    cache = workspace.folder / "cache"
    cache.mkdir()
    cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    completed = workspace.with_environment(CUDAMM_CACHE=str(cache)).run(
        BENCH, preexec_fn=drop_right_to_write_read_only_files
    )
    cache.chmod(stat.S_IRWXU)
    assert (completed.status, completed.stdout, len(completed.stderr_lines)) == (3, "", 1)
    assert "set CUDAMM_CACHE to another" in completed.stderr_lines[0]
    assert not (workspace.folder / "out.json").exists()


def write_script(path, text, first_line="#!/bin/sh"):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{first_line}\n{text}\n")
    path.chmod(0o755)


UNCOMPILED = 77
"""Value of FAULT that no other test compiles; its kernel has no fault."""


@pytest.mark.slow
def test_a_compiler_that_is_killed_fails_one_row(workspace):
    write_script(
        workspace.folder / "bin" / "g++",
        f'real={shutil.which("g++")}\ncase " $* " in *" -c "*) ;; *) exec $real "$@" ;; esac\n'
        f'for source; do :; done\ngrep -q "^#define FAULT {UNCOMPILED}" "$source" && kill -KILL $$\n'
        'exec $real "$@"',
        first_line="",  # not known as a script, it passes for the real compiler: cached programs are used
    )
    workspace = workspace.with_environment(PATH=f"{workspace.folder / 'bin'}:{os.environ['PATH']}")
    completed = workspace.run(BENCH + f"--kernel {FAULTS} -D FAULT=0,{UNCOMPILED},99")
    rows = workspace.rows()
    assert [row["status"] for row in rows] == ["ok", "ok", "ok", "failed", "ok"], rows[3]
    assert "g++ was killed by SIGKILL: is there too little memory?" in rows[3]["reason"]
    assert completed.status == 1 and "Traceback" not in completed.stderr
    workspace.assert_nothing_left()


FAULTY_COMPILERS = {
    "prints and fails": "head -c 3000 /dev/urandom >&2; exit 1",
    "prints and succeeds": "head -c 3000 /dev/urandom; exit 0",
    "writes garbage": 'while [ $# -gt 0 ]; do [ "$1" = -o ] && head -c 3000 /dev/urandom >"$2"; shift; done',
}


@pytest.mark.long
@pytest.mark.parametrize("script", FAULTY_COMPILERS.values(), ids=FAULTY_COMPILERS)
def test_a_compiler_that_makes_garbage_ends_without_traceback(workspace, script):
    compiler = workspace.folder / "compiler"
    write_script(compiler, f'[ "$1" = --version ] && exec g++ --version\n{script}')
    workspace = workspace.with_environment(CXX=str(compiler), CUDAMM_CACHE=str(workspace.folder / "cache"))
    completed = workspace.run(BENCH)
    assert completed.status in (1, 2, 3), completed
    assert "Traceback" not in completed.stderr + completed.stdout
    assert "Success" not in completed.stdout
    if (workspace.folder / "out.json").exists():
        assert all(row["status"] == "failed" and row["reason"] for row in workspace.rows())
    workspace.assert_nothing_left()
