"""`-m cublas` and `-m all` in every command without a GPU, and the share of cuBLAS in files."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cudamm.kernels import ladder
from cudamm.kernels.ladder import find

LEFT_OUT = "cublas is omitted: cublas runs on an NVIDIA GPU, and on nothing else"


def test_cublas_is_skipped_beside_other_methods_on_the_cpu_device(run) -> None:
    result = run("bench -m coalesced,cublas -n 8 --runs 2 --warmup 0 --times --device cpu")
    assert result.status == 0 and result.stderr == ""
    assert "SKIPPED" in result.stdout and "of cuBLAS" not in result.stdout
    assert "skipped cublas at 8x8x8 float32: runs on an NVIDIA GPU" in result.stdout
    assert "cublas †" not in result.stdout


def test_cublas_alone_is_refused_on_the_cpu_device(run) -> None:
    for command in ("bench", "verify", "sweep"):
        run(f"{command} -m cublas -n 8 --device cpu").refused(2, "cublas runs on an NVIDIA GPU")


@pytest.fixture
def ladder_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `all` stand for one kernel and cuBLAS, because the whole ladder takes long to compile."""
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
def test_all_leaves_cublas_out_with_a_remark(run, ladder_of_two, command: str) -> None:
    result = run(f"{command} -n 8 --dtype float32 --device cpu --json rows.json")
    assert result.status == 0
    assert result.stdout.count(LEFT_OUT) == 1
    rows = json.loads(Path("rows.json").read_text())["results"]
    assert [row["method"] for row in rows] == ["coalesced"]


def test_cublas_named_beside_all_has_a_row(run, ladder_of_two) -> None:
    result = run("verify -m all,cublas -n 8 --dtype float32 --device cpu --json rows.json")
    assert result.status == 0 and LEFT_OUT not in result.stdout
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
def test_commands_about_kernels_refuse_cublas_with_the_reason(run, line: str, verb: str) -> None:
    run(line).refused(2, "cublas: a library launches kernels of its own, which cudamm cannot", verb)


@pytest.mark.parametrize(
    ("line", "rows"),
    [("check -n 3", "checked"), ("check -m all -n 3", "checked"), ("trace -n 3 -m all", "variants")],
)
def test_check_and_trace_leave_cublas_out_of_all(run, ladder_of_two, line: str, rows: str) -> None:
    result = run(f"{line} --json -")
    assert result.status == 0, result.stderr
    assert {row["method"] for row in json.loads(result.stdout)[rows]} == {"coalesced"}


def test_show_prints_the_source_of_cublas(run) -> None:
    result = run("show -m cublas")
    assert result.status == 0
    assert "cublas.sgemm" in result.stdout and "library: nvmath-python" in result.stdout


def test_roofline_has_no_intensity_of_cublas(run) -> None:
    options = "--peak 100 --bandwidth 10 -n 64"
    result = run(f"roofline -m cublas,tiled {options}")
    assert result.status == 0
    assert "cublas: the loads of the library's kernels are not known" in result.stdout
    assert "--traffic" not in result.stdout
    result = run(f"roofline {options} -m all --json rows.json")
    assert "cublas is omitted: cublas needs a GPU in this machine" in result.stdout
    assert "cublas" not in {row["method"] for row in json.loads(Path("rows.json").read_text())["results"]}


def test_list_names_the_library_and_where_cublas_runs(run) -> None:
    (record,) = run("list -m cublas --json -").records
    assert (record["library"], record["runs_on_host"]) == ("nvmath-python", False)
    assert record["element_types"] == ["float32", "float64", "float16", "bfloat16", "tf32"]
    (record,) = run("list -m tiled --json -").records
    assert record["library"] is None
    row = next(line for line in run("list -m cublas").stdout.splitlines() if line.startswith("│ cublas"))
    assert [cell.strip() for cell in row.split("│")][4] == "GPU"


@pytest.mark.slow
def test_nvmath_is_not_imported_before_cublas_runs(tmp_path: Path) -> None:
    trap = tmp_path / "trap" / "nvmath"  # found before an installed nvmath
    trap.mkdir(parents=True)
    (trap / "__init__.py").write_text("raise SystemExit('nvmath was imported')")
    lines = (
        "--help",
        "list",
        "show -m cublas",
        "bench -m coalesced -n 8 --runs 1 --warmup 0 --times --no-verify --device cpu",
    )
    program = f"""\
import sys
from cudamm.cli import main
for line in {lines!r}:
    sys.argv = ["cudamm", *line.split()]
    try:
        main()
    except SystemExit as end:
        print(f"{{line}}: {{end.code}}", file=sys.stderr)
"""
    path = os.pathsep.join(filter(None, [str(trap.parent), os.environ.get("PYTHONPATH")]))
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""},
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert result.stderr.splitlines() == [f"{line}: 0" for line in lines]


# Rows beside cuBLAS.


@pytest.fixture
def numpy_is_cublas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace cuBLAS by numpy under the name cublas; a file of results shows no other difference."""
    stand_in = dataclasses.replace(find("numpy"), name="cublas")
    method_in = ladder._method
    monkeypatch.setattr(
        ladder, "_method", lambda path: stand_in if path.stem == "cublas" else method_in(path)
    )
    monkeypatch.setattr(ladder, "libraries", lambda: (stand_in,))
    assert find("cublas") is stand_in


def check_shares(rows: list[dict[str, Any]]) -> None:
    medians = {row["method"]: float(row["median_ms"]) for row in rows}
    assert len(medians) == len(rows) > 1
    for row in rows:
        expected = medians["cublas"] / medians[row["method"]]
        assert float(row["share_of_cublas"]) == pytest.approx(expected)


def test_json_and_csv_contain_the_share_in_either_order_of_methods(run, numpy_is_cublas) -> None:
    for order in ("coalesced,cublas", "cublas,coalesced"):
        result = run(
            f"bench -m {order} -n 32 --runs 3 --warmup 0 --times --device cpu --json rows.json --csv rows.csv"
        )
        assert result.status == 0 and "of cuBLAS" in result.stdout
        check_shares(json.loads(Path("rows.json").read_text())["results"])
        check_shares(list(csv.DictReader(io.StringIO(Path("rows.csv").read_text()))))


def test_a_resumed_run_with_cublas_adds_the_shares(run, numpy_is_cublas) -> None:
    run("bench -m coalesced -n 32 --runs 3 --warmup 0 --times --device cpu --json rows.json")
    (row,) = json.loads(Path("rows.json").read_text())["results"]
    assert row["share_of_cublas"] is None and row["share_of_fma_ceiling"] is None
    result = run(
        "bench -m coalesced,cublas -n 32 --runs 3 --warmup 0 --times --device cpu --resume rows.json"
    )
    assert result.status == 0 and "1 of 2 results were in rows.json already" in result.stdout
    rows = json.loads(Path("rows.json").read_text())["results"]
    assert rows[0]["samples_ms"] == row["samples_ms"]
    check_shares(rows)


def test_report_prints_the_shares_of_a_file(run, numpy_is_cublas) -> None:
    run("bench -m coalesced,cublas -n 32 --runs 3 --warmup 0 --times --device cpu --json rows.json")
    result = run("report rows.json --csv -")
    assert result.status == 0
    check_shares(list(csv.DictReader(io.StringIO(result.stdout))))
    assert "of cuBLAS" in run("report rows.json --markdown -").stdout
    assert run("report rows.json -o page.html").status == 0
    assert "<th" in Path("page.html").read_text() and "of cuBLAS" in Path("page.html").read_text()
