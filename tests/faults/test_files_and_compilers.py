"""Results files, the cache and the compiler, each of them broken in turn."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import stat
import time
from pathlib import Path

import pytest

FAULTS = Path(__file__).with_name("faults.cu")
BENCH = "bench --device cpu -n 32 --runs 2 --warmup 0 --times -m tiled,coalesced --block 8 --json out.json "
SWEEP = (
    f"sweep --device cpu -n 24 -n 32 -n 40 --kernel {FAULTS} -D FAULT=0,99 -D BLOCK_SIZE=2,4,8,16 --full "
    "--runs 40 --warmup 2 --times --resume all.json"
)
SWEPT = 3 * 2 * 4
KILLS = 5
SEED = int(os.environ.get("CUDAMM_FAULT_SEED", "20261121"))


def key(row):
    return row["m"], *row["params"].values()


def test_a_sweep_that_is_killed_again_and_again(place):
    place.run(SWEEP.replace("all.json", "first.json"))  # what is compiled is in the cache from here on
    chance, before, killed = random.Random(SEED), {}, 0  # noqa: S311
    while killed < KILLS:
        process = place.start(SWEEP)
        time.sleep(chance.uniform(0.4, 1.0))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        process.communicate()
        left = time.monotonic() + 5
        while place.left_over() and time.monotonic() < left:
            time.sleep(0.02)
        assert place.left_over() == []
        rows = place.journal("all.json")
        if (place.folder / "all.json").exists():  # it was quicker than its end: begin again
            assert len(place.rows("all.json")) == SWEPT
            (place.folder / "all.json").unlink()
            (place.folder / "all.json.journal").unlink(missing_ok=True)
            before = {}
            continue
        now = {key(row): row["samples_ms"] for row in rows}
        assert len(now) == len(rows)
        assert {name: now.get(name) for name in before} == before
        before = now
    ended = place.run(SWEEP)
    assert ended.status == 0, ended.stderr
    rows = place.rows("all.json")
    assert len(rows) == len({key(row) for row in rows}) == SWEPT
    assert all(row["status"] == "ok" for row in rows)
    assert before.items() <= {key(row): row["samples_ms"] for row in rows}.items()
    place.nothing_left()


@pytest.mark.parametrize(("after", "end"), [(1, "SIGKILL"), (2, "SIGKILL"), (1, "SIGTERM")])
def test_a_resumed_run_that_ends_while_it_takes_over_old_rows(place, after, end):
    """The file is complete but for a row; the run ends right after it has replaced a file `after` times.

    The first is the journal, the second the file itself.
    """
    bench = BENCH + f"--kernel {FAULTS} -D FAULT="
    assert place.run(bench + "0,23,99").status == 1
    before = place.rows()
    ended = place.run(
        bench + "0,23,99 --resume out.json",
        prefix=f"""
import os, signal
from pathlib import Path
inner, calls = Path.replace, []
def outer(self, target):
    inner(self, target)
    if "out.json" in str(target):
        calls.append(1)
    if len(calls) == {after}:
        os.kill(os.getpid(), signal.{end})
Path.replace = outer
""",
    )
    assert "Traceback" not in ended.stderr
    found = place.journal() or place.rows()
    kept = {row["params"].get("FAULT", row["method"]) for row in found if row["status"] == "ok"}
    assert kept >= {row["params"].get("FAULT", row["method"]) for row in before if row["status"] == "ok"}


def test_two_runs_over_one_file(place):
    first = place.start(BENCH.replace("--runs 2", "--max-time 6 --max-noise 0.0001%"))
    end = time.monotonic() + 20
    while not (place.folder / ".out.json.lock").exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.1)  # its number is written into the lock file next
    again = BENCH.replace("--runs 2", "--max-time 6 --max-noise 0.0001%")
    for line in (BENCH, again.replace("--json", "--resume")):
        second = place.run(line)
        assert (second.status, second.stdout, len(second.lines)) == (2, "", 1)
        assert f"another run of cudamm (process {first.pid}) is writing this file" in second.lines[0]
    first.send_signal(signal.SIGINT)  # it samples for as long as it may, so that it lasts until here
    assert place.end(first).status == 128 + signal.SIGINT
    place.nothing_left()


@pytest.mark.parametrize(("room", "rows"), [(0, 0), (1900, 1)], ids=["for nothing", "for one row"])
def test_a_full_disk(place, room, rows):
    """No file may grow beyond `room` bytes; the file is the old one, and the journal has what did fit."""
    assert place.run(BENCH.replace("out.json", "other.json")).status == 0  # so that nothing compiles

    (place.folder / "out.json").write_text(old := (place.folder / "other.json").read_text())
    ended = place.run(BENCH, prefix=LIMITED.format(room))
    assert ended.status != 0 and "Traceback" not in ended.stderr
    assert ended.stdout.count("✓") == 2
    assert ended.lines == ["cudamm: --json out.json: it cannot be written (File too large)"]
    assert (place.folder / "out.json").read_text() == old
    assert len(place.journal()) == rows
    place.nothing_left()
    assert place.run(BENCH + "--resume out.json").status == 0
    assert len(place.rows()) == 2 and place.journal() == []


# Of this process alone, once the worker runs: a kernel's own memory is a file too.
LIMITED = """
import resource, signal
from cudamm.cli.session import LiveSession
inner = LiveSession.collect
def outer(self, measure):
    def limited(tell):
        for number, result in enumerate(measure(tell)):
            if number == 0:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))
            yield result
    inner(self, limited)
LiveSession.collect = outer
"""


def test_a_cache_folder_that_is_a_file(place):
    (place.folder / "cache").write_text("")
    ended = place.with_(CUDAMM_CACHE=str(place.folder / "cache")).run(BENCH)
    assert (ended.status, ended.stdout, len(ended.lines)) == (3, "", 1)
    assert "is a file; set CUDAMM_CACHE to a folder" in ended.lines[0]
    assert not (place.folder / "out.json").exists()


def without_roots_rights() -> None:
    """Give up root's right to write what is read-only: a program that is executed next no longer has it."""
    if os.geteuid() == 0:
        pr_capbset_drop, cap_dac_override = 24, 1
        assert ctypes.CDLL(None).prctl(pr_capbset_drop, cap_dac_override) == 0


def test_a_read_only_file_is_refused_and_kept(place):
    target = place.folder / "out.json"
    target.write_text("old")
    target.chmod(stat.S_IRUSR)
    ended = place.run(BENCH, preexec_fn=without_roots_rights)
    assert (ended.status, ended.stdout, len(ended.lines)) == (2, "", 1)
    assert "out.json: it cannot be written (Permission denied)" in ended.lines[0]
    assert target.read_text() == "old"
    assert [path.name for path in place.folder.iterdir()] == ["out.json"]


def test_a_cache_folder_that_is_read_only(place):
    cache = place.folder / "cache"
    cache.mkdir()
    cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    ended = place.with_(CUDAMM_CACHE=str(cache)).run(BENCH, preexec_fn=without_roots_rights)
    cache.chmod(stat.S_IRWXU)
    assert (ended.status, ended.stdout, len(ended.lines)) == (3, "", 1)
    assert "set CUDAMM_CACHE to another" in ended.lines[0]


def compiler(place, text):
    path = place.folder / "compiler"
    path.write_text(text)
    path.chmod(0o755)
    return place.with_(CXX=str(path), CUDAMM_CACHE=str(place.folder / "cache"))


def test_a_compiler_that_is_killed(place):
    there = compiler(
        place,
        '#!/bin/sh\ncase " $* " in *" -c "*) ;; *) exec g++ "$@" ;; esac\n'
        'source=$(cat)\ncase "$source" in *"FAULT = 7;"*|*"FAULT 7"*|*"FAULT=7"*) kill -KILL $$ ;; esac\n'
        'printf "%s\\n" "$source" | exec g++ "$@"\n',
    )
    ended = there.run(BENCH + f"--kernel {FAULTS} -D FAULT=0,7,99")
    rows = place.rows()
    assert [row["status"] for row in rows] == ["ok", "ok", "ok", "failed", "ok"], rows[3]
    assert "compiler was killed by SIGKILL: is there too little memory?" in rows[3]["reason"]
    assert ended.status == 1 and "Traceback" not in ended.stderr
    there.nothing_left()


GARBAGE = {
    "prints and fails": "head -c 3000 /dev/urandom >&2; exit 1",
    "prints and succeeds": "head -c 3000 /dev/urandom; exit 0",
    "makes garbage": 'while [ $# -gt 0 ]; do [ "$1" = -o ] && head -c 3000 /dev/urandom >"$2"; shift; done',
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_a_compiler_that_gives_garbage(place, kind):
    does = GARBAGE[kind]
    there = compiler(place, f'#!/bin/sh\n[ "$1" = --version ] && exec g++ --version\n{does}\n')
    ended = there.run(BENCH)
    assert ended.status in (1, 2, 3), ended
    assert "Traceback" not in ended.stderr + ended.stdout
    assert "Success" not in ended.stdout
    if (place.folder / "out.json").exists():
        assert all(row["status"] == "failed" and row["reason"] for row in place.rows())
    there.nothing_left()
