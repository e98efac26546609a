"""`-m cublas` and `-m all` in every command, without a GPU; and what files say of rows beside cuBLAS."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import pytest

from cudamm.kernels.ladder import find

LEFT_OUT = "cublas is omitted: cublas runs on an NVIDIA GPU, and on nothing else"


def test_it_is_skipped_beside_others_on_the_cpu_device(run) -> None:
    ended = run("bench -m coalesced,cublas -n 8 --runs 2 --warmup 0 --times --device cpu")
    assert ended.status == 0 and ended.stderr == ""
    assert "SKIPPED" in ended.stdout and "of cuBLAS" not in ended.stdout
    assert "skipped cublas at 8x8x8 float32: runs on an NVIDIA GPU" in ended.stdout
    assert "cublas †" not in ended.stdout  # nothing executed it


def test_alone_it_is_refused_on_the_cpu_device(run) -> None:
    for command in ("bench", "verify", "sweep"):
        run(f"{command} -m cublas -n 8 --device cpu").refused(2, "cublas runs on an NVIDIA GPU")


@pytest.fixture
def two_are_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `all` stand for a kernel and cuBLAS: the whole ladder takes long to compile."""
    chosen = (find("coalesced"), find("cublas"))
    monkeypatch.setattr("cudamm.kernels.ladder.methods", lambda: chosen)


@pytest.mark.parametrize(
    "command",
    [
        "bench --runs 1 --warmup 0 --times",
        "bench --runs 1 --warmup 0 --times -m all",
        "sweep --runs 1 --warmup 0 --times --block 4",
        "verify",
        "verify -m all",
    ],
)
def test_among_all_it_is_left_out_with_a_remark(run, two_are_all, command: str) -> None:
    ended = run(f"{command} -n 8 --dtype float32 --device cpu --json rows.json")
    assert ended.status == 0
    assert ended.stdout.count(LEFT_OUT) == 1
    rows = json.loads(Path("rows.json").read_text())["results"]
    assert [row["method"] for row in rows] == ["coalesced"]


def test_named_beside_all_it_is_a_row(run, two_are_all) -> None:
    ended = run("verify -m all,cublas -n 8 --dtype float32 --device cpu --json rows.json")
    assert ended.status == 0 and LEFT_OUT not in ended.stdout
    rows = {row["method"]: row for row in json.loads(Path("rows.json").read_text())["results"]}
    assert rows["cublas"]["status"] == "skipped"


@pytest.mark.parametrize(
    ("line", "verb"),
    [
        ("occupancy -m cublas --arch sm_90", "compute the occupancy of"),
        ("occupancy -m tiled,cublas --arch sm_90", "compute the occupancy of"),
        ("trace -m cublas", "trace"),
        ("trace --compare tiled cublas", "trace"),
        ("check -m cublas -m tiled", "check"),
        ("profile -m cublas", "profile; ncu does"),
        ("tune -m cublas", "tune"),
        ("show -m cublas --ptx", "no --ptx; --source works"),
        ("show -m cublas --resources", "no --resources; --source works"),
        ("show --diff tiled cublas --sass", "no --sass; --source works"),
    ],
)
def test_commands_about_kernels_say_why_it_is_none(run, line: str, verb: str) -> None:
    run(line).refused(2, "cublas: a library launches kernels of its own, which cudamm cannot", verb)


@pytest.mark.parametrize(
    ("line", "rows"),
    [("check -n 3", "checked"), ("check -m all -n 3", "checked"), ("trace -n 64 -m all", "variants")],
)
def test_all_leaves_it_out_where_kernels_are_asked_for(run, two_are_all, line: str, rows: str) -> None:
    ended = run(f"{line} --json -")
    assert ended.status == 0, ended.stderr
    assert {row["method"] for row in json.loads(ended.stdout)[rows]} == {"coalesced"}


def test_its_source_is_shown(run) -> None:
    ended = run("show -m cublas")
    assert ended.status == 0
    assert "cublas.sgemm" in ended.stdout and "library: nvmath-python" in ended.stdout


def test_the_roofline_of_a_device_by_its_numbers(run) -> None:
    options = "--peak 100 --bandwidth 10 -n 64"
    ended = run(f"roofline -m cublas,tiled {options}")
    assert ended.status == 0
    assert "cublas: the loads of the library's kernels are not known" in ended.stdout
    assert "--traffic" not in ended.stdout
    ended = run(f"roofline {options} -m all --json rows.json")
    assert "cublas is omitted: cublas needs a GPU in this machine" in ended.stdout
    assert "cublas" not in {row["method"] for row in json.loads(Path("rows.json").read_text())["results"]}


def test_list_says_where_it_runs(run) -> None:
    (record,) = run("list -m cublas --json -").records
    assert (record["library"], record["runs_on_host"]) == ("nvmath-python", False)
    assert record["element_types"] == ["float32", "float64"]
    (record,) = run("list -m tiled --json -").records
    assert record["library"] is None
    row = next(line for line in run("list -m cublas").stdout.splitlines() if line.startswith("│ cublas"))
    assert [cell.strip() for cell in row.split("│")][4] == "GPU"


def test_nothing_of_it_is_imported_before_it_is_run(spawn, tmp_path: Path) -> None:
    # A folder first on the path, where nvmath would be found, and would end the program.
    trap = tmp_path / "trap" / "nvmath"
    trap.mkdir(parents=True)
    (trap / "__init__.py").write_text("raise SystemExit('nvmath was imported')")
    for line in (
        "--help",
        "list",
        "bench -m coalesced -n 8 --runs 1 --warmup 0 --device cpu",
        "show -m cublas",
    ):
        ended = spawn(line, PYTHONPATH=str(trap.parent))
        assert ended.status == 0, ended.stderr
        assert "nvmath was imported" not in ended.stderr


# What the rows of others say of it


@pytest.fixture
def library_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have numpy stand in for cuBLAS: the two differ in nothing that a file of results knows but in name."""
    stand_in = dataclasses.replace(find("numpy"), name="cublas")
    monkeypatch.setattr("cudamm.kernels.ladder.libraries", lambda: (stand_in,))
    assert find("cublas") is stand_in


def shares_are_right(rows: list[dict[str, Any]]) -> None:
    medians = {row["method"]: float(row["median_ms"]) for row in rows}
    assert len(medians) == len(rows) > 1
    for row in rows:
        expected = medians["cublas"] / medians[row["method"]]
        assert float(row["share_of_cublas"]) == pytest.approx(expected)


def test_json_and_csv_have_the_share_whichever_comes_first(run, library_runs_here) -> None:
    for order in ("coalesced,cublas", "cublas,coalesced"):
        ended = run(
            f"bench -m {order} -n 32 --runs 3 --warmup 0 --times --device cpu --json rows.json --csv rows.csv"
        )
        assert ended.status == 0 and "of cuBLAS" in ended.stdout
        shares_are_right(json.loads(Path("rows.json").read_text())["results"])
        shares_are_right(list(csv.DictReader(io.StringIO(Path("rows.csv").read_text()))))


def test_a_resumed_file_gets_the_shares_when_cublas_comes(run, library_runs_here) -> None:
    run("bench -m coalesced -n 32 --runs 3 --warmup 0 --times --device cpu --json rows.json")
    (row,) = json.loads(Path("rows.json").read_text())["results"]
    assert row["share_of_cublas"] is None and row["share_of_fma_ceiling"] is None
    ended = run("bench -m coalesced,cublas -n 32 --runs 3 --warmup 0 --times --device cpu --resume rows.json")
    assert ended.status == 0 and "1 of 2 were in rows.json already" in ended.stdout
    rows = json.loads(Path("rows.json").read_text())["results"]
    assert rows[0]["samples_ms"] == row["samples_ms"]
    shares_are_right(rows)


def test_report_prints_the_shares_of_a_file(run, library_runs_here) -> None:
    run("bench -m coalesced,cublas -n 32 --runs 3 --warmup 0 --times --device cpu --json rows.json")
    ended = run("report rows.json --csv -")
    assert ended.status == 0
    shares_are_right(list(csv.DictReader(io.StringIO(ended.stdout))))
    assert "of cuBLAS" in run("report rows.json --markdown -").stdout
    assert run("report rows.json -o page.html").status == 0
    assert "<th" in Path("page.html").read_text() and "of cuBLAS" in Path("page.html").read_text()
