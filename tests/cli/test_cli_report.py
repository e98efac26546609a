"""`cudamm report`: where the page is written, what is refused, and that the file of results never changes."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

GPU_FILE = Path(__file__).parent.parent / "output" / "data" / "gpu.json"


@pytest.fixture
def results(tmp_path):
    """Write a file of results into the folder in which commands run."""
    path = tmp_path / "results.json"
    path.write_bytes(GPU_FILE.read_bytes())
    return path


def assert_only(folder, *names):
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


def test_the_page_is_written_beside_the_file_of_results(run, results, tmp_path):
    before = results.read_bytes()
    ended = run("report results.json --no-occupancy")
    assert (ended.status, ended.stderr) == (0, "")
    assert re.fullmatch(r"results\.html: 34 rows, \d+ kB\n", ended.stdout)
    page = (tmp_path / "results.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n")
    assert "Matrix multiplication on Made-up GPU" in page and 'id="occupancy"' not in page
    assert results.read_bytes() == before
    assert_only(tmp_path, "results.json", "results.html")


def test_a_page_is_written_elsewhere_and_replaced_by_an_equal_one(run, results, tmp_path):
    (tmp_path / "out").mkdir()
    line = "report results.json --no-occupancy -o out/page.htm"
    assert run(line).stdout.startswith("out/page.htm: 34 rows")
    assert_only(tmp_path / "out", "page.htm")
    page = (tmp_path / "out" / "page.htm").read_bytes()
    assert run(line).status == 0
    assert (tmp_path / "out" / "page.htm").read_bytes() == page


@pytest.mark.parametrize("name", ["results.json", "./results.json", "link.json", "hard.json"])
def test_the_page_never_replaces_the_file_of_results(run, results, tmp_path, name):
    (tmp_path / "link.json").symlink_to("results.json")
    (tmp_path / "hard.json").hardlink_to(results)
    before = results.read_bytes()
    run(f"report results.json -o {name}").refused(2, f"-o {name} would replace results.json")
    assert results.read_bytes() == before


def test_a_file_of_results_may_be_named_html(run, results, tmp_path):
    results.rename(tmp_path / "results.html")
    run("report results.html").refused(2, "-o results.html would replace results.html")
    assert run("report results.html --no-occupancy -o page.html").status == 0


def test_results_from_a_stream_need_a_name_for_the_page(spawn, results, tmp_path):
    spawn("report /dev/stdin", redirect="< results.json").refused(
        2, "cannot be named after /dev/stdin", "-o FILE"
    )
    assert_only(tmp_path, "results.json")
    assert not Path("/dev/stdin.html").exists()


@pytest.mark.slow
def test_results_from_a_stream_can_be_a_page_on_standard_output(spawn, results, tmp_path):
    ended = spawn("report /dev/stdin --no-occupancy -o -", redirect="< results.json")
    assert (ended.status, ended.stderr) == (0, "")
    assert ended.stdout.startswith("<!DOCTYPE html>") and ended.stdout.endswith("</html>\n")
    assert_only(tmp_path, "results.json")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("report", ("RESULTS.json",)),
        ("report nowhere.json", ("nowhere.json", "no such file")),
        ("report .", ("folder",)),
        ("report results.json other.json", ("other.json",)),
        ("report results.json -o none/page.html", ("-o none/page.html", "No such file or directory")),
        ("report results.json -o .", ("-o .", "folder")),
        ("report results.json -o ''", ("-o needs the name of a file",)),
        ("report text.json", ("text.json is not JSON",)),
        ("report old.json", ("another version of cudamm",)),
        ("report other.json", ("other.json is a file of cudamm occupancy",)),
        ("report empty.json", ("empty.json contains no results yet",)),
        ("report damaged.json", ("damaged", "result 1, `launches_per_sample`: expected `int`")),
    ],
)
def test_a_page_that_cannot_be_made_is_refused(run, results, tmp_path, line, words):
    document = json.loads(results.read_text())
    rows = document["results"]
    files = {
        "old.json": document | {"schema": "cudamm.bench/1"},
        "other.json": document | {"schema": "cudamm.occupancy/1"},
        "empty.json": document | {"results": []},
        "damaged.json": document | {"results": [rows[0] | {"launches_per_sample": "many"}]},
    }
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "text.json").write_text("naive 1.0")
    before = sorted(path.name for path in tmp_path.iterdir())
    run(line).refused(2, *words)
    assert_only(tmp_path, *before)


def test_a_full_disk_is_reported(run, results):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    run("report results.json --no-occupancy -o /dev/full").refused(2, "No space left on device")


def test_a_page_of_new_results_says_that_the_sources_are_unchanged(run, tmp_path):
    run(
        "bench --device cpu -m numpy,naive --block 8 -n 24 -n 40 --runs 2 --warmup 0 --times "
        "--json results.json"
    )
    assert run("report results.json").status == 0
    page = (tmp_path / "results.html").read_text(encoding="utf-8")
    assert page.count("The source is that of this version of cudamm.") == 2
    assert "4 rows: 4 measured and right." in page
    assert "say nothing about a GPU" in page
    assert "This section is empty: the results are not from a GPU." in page


def test_a_page_of_a_sweep_has_charts_of_timed_methods_only(run, tmp_path, kernel):
    kernel("my.cu")
    run(
        "sweep --device cpu --kernel my.cu -m cpu-block -D BLOCK_SIZE=4,8 -n 24 --runs 2 --warmup 0 "
        "--full --json sweep.json"
    )
    assert run("report sweep.json -o sweep.htm").status == 0
    page = (tmp_path / "sweep.htm").read_text(encoding="utf-8")
    assert "cpu-block against BLOCK_SIZE, 24 × 24 × 24" in page and "my against" not in page
    assert "not one of cudamm's own methods" in page


@pytest.fixture
def measured(results):
    """Give a row of the file the hash of the present source, so that its occupancy is computed."""
    from cudamm.compile.program import program
    from cudamm.kernels.ladder import find
    from cudamm.kernels.method import ELEMENT_TYPES
    from cudamm.kernels.variant import Variant

    document = json.loads(results.read_text())
    rows = [row for row in document["results"] if row["method"] in ("naive", "mine") and row["n"] == 1024]
    variant = Variant(find("naive"), (("BLOCK_SIZE", 32),))
    rows[0]["source"] = program(variant, ELEMENT_TYPES["float32"], True).hash
    results.write_text(json.dumps(document | {"results": rows}))
    return document


def test_the_page_has_the_occupancy_of_unchanged_sources(run, measured, needs_nvcc, tmp_path):
    ended = run("report results.json")
    assert (ended.status, ended.stderr) == (0, "")
    page = (tmp_path / "results.html").read_text(encoding="utf-8")
    assert "on Made-up GPU (sm_90, 132 multiprocessors)" in page
    assert "1 method is not shown: the present source was not measured" in page


def test_without_nvcc_the_page_has_no_occupancy(run, measured, monkeypatch, request, tmp_path):
    from cudamm.compile import nvcc_compiler

    request.addfinalizer(nvcc_compiler.nvcc.cache_clear)
    monkeypatch.setattr(nvcc_compiler, "find_nvcc", lambda: None)
    nvcc_compiler.nvcc.cache_clear()
    ended = run("report results.json")
    assert (ended.status, ended.stderr) == (0, "")
    page = (tmp_path / "results.html").read_text(encoding="utf-8")
    assert "This section is empty: nvcc was not found" in page


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ({"kind": "gpu", "name": "Old one"}, "names no architecture"),
        ({"kind": "gpu", "name": "New one", "arch": "sm_999"}, "names no architecture"),
        ({"kind": "gpu", "name": "Ancient one", "arch": "sm_30"}, "The registers are an estimate"),
    ],
)
def test_a_page_of_an_unknown_or_old_architecture_says_so(
    run, measured, needs_nvcc, results, tmp_path, device, words
):
    document = json.loads(results.read_text())
    results.write_text(json.dumps(document | {"device": device}))
    assert run("report results.json").status == 0
    assert words in (tmp_path / "results.html").read_text(encoding="utf-8")


def test_the_page_has_no_occupancy_of_changed_sources(run, results, tmp_path):
    document = json.loads(results.read_text())
    rows = [row | {"source": "0123456789abcdef"} for row in document["results"]]
    results.write_text(json.dumps(document | {"results": rows}))
    assert run("report results.json").status == 0
    page = (tmp_path / "results.html").read_text(encoding="utf-8")
    assert (
        "This section is empty: the sources of all kernels have changed" in page
        and "has changed since the measurement" in page
    )


def test_a_table_in_another_form_is_written_in_place_of_the_page(run, results, tmp_path):
    ended = run("report results.json --markdown table.md --csv rows.csv --svg table.svg")
    assert (ended.status, ended.stdout, ended.stderr) == (0, "", "")
    assert_only(tmp_path, "results.json", "table.md", "rows.csv", "table.svg")
    names = {row["method"] for row in json.loads(results.read_text())["results"]}
    for name in ("table.md", "rows.csv", "table.svg"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert all(method in text for method in names), name
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 1 + 34


def test_a_table_and_a_page_are_both_written_if_both_are_named(run, results, tmp_path):
    ended = run("report results.json --no-occupancy --markdown - -o page.html")
    assert ended.status == 0
    assert ended.stdout.count("\n|---") >= 1
    assert "Made-up GPU" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--csv results.json", "--csv results.json would replace results.json"),
        ("--markdown - -o -", "--markdown and -o are both standard output"),
        ("--svg page.html -o page.html", "--svg and -o are both page.html"),
        ("--svg a --csv a", "are both a"),
    ],
)
def test_an_output_that_would_replace_another_file_is_refused(run, results, tmp_path, options, words):
    before = results.read_bytes()
    ended = run(f"report results.json {options}")
    assert ended.status == 2
    assert words in ended.stderr and ended.stderr.count("\n") == 1
    assert results.read_bytes() == before
    assert_only(tmp_path, "results.json")


@pytest.fixture
def large_results(tmp_path):
    """Write a file of 3,000 rows, all of one problem."""
    document = json.loads(GPU_FILE.read_text(encoding="utf-8"))
    (row, *_) = (r for r in document["results"] if r["status"] == "ok" and r["samples_ms"])
    document["results"] = [
        row | {"params": {"VARIANT": i}, "samples_ms": [1 + i / 1000 + j / 100 for j in range(20)]}
        for i in range(3000)
    ]
    path = tmp_path / "large.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.slow
def test_tables_and_page_show_the_fastest_rows_and_csv_has_all(run, large_results, tmp_path):
    start = time.process_time()
    assert run("report large.json --no-occupancy --csv all.csv").status == 0
    assert time.process_time() - start < 5
    assert len((tmp_path / "all.csv").read_text(encoding="utf-8").splitlines()) == 3001
    ended = run("report large.json --no-occupancy --markdown - -o page.html")
    assert "The tables show 500 of 3000 rows: of each problem the fastest rows" in ended.stdout
    assert "--csv FILE writes all rows" in ended.stdout
    assert "VARIANT=499 " in ended.stdout and "VARIANT=500 " not in ended.stdout
    assert "This page shows 500 of the 3000 rows" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_comparison_shows_some_rows_and_its_files_have_all(run, large_results, tmp_path):
    start = time.process_time()
    ended = run("compare large.json large.json --json all.json --csv all.csv")
    assert time.process_time() - start < 5 and ended.status == 0
    assert "The tables show 500 of 3000 rows: those with a difference come first" in ended.stdout
    assert len(json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["results"]) == 3000
    assert len((tmp_path / "all.csv").read_text(encoding="utf-8").splitlines()) == 3001


HOSTILE = """\
// My kernel: </code><script>alert(1)</script><img src=x onerror=alert(1)> & "quoted"
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)

__global__ void mine(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row > M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
int main() { return 0; }
"""


def cell(page: str, line: int) -> str:
    """Return the row of a line of the source, and the row of what was found in it, as HTML."""
    (rows,) = re.findall(rf'<tr id="line-{line}".*?</tr>(?:\s*<tr class="found.*?</tr>)?', page, re.DOTALL)
    return rows


@pytest.mark.slow
def test_a_page_of_a_kernel_has_its_source_with_findings_below_the_lines(run, tmp_path, needs_nvcc):
    (tmp_path / "a<b>.cu").write_text(HOSTILE)
    ended = run("report 'a<b>.cu' -n 64 --gpu rtx3080")
    assert (ended.status, ended.stderr) == (0, "")
    assert re.fullmatch(r"a<b>\.html: a<b>\.cu, \d+ kB\n", ended.stdout)
    page = (tmp_path / "a<b>.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n")
    assert "<img" not in page and "<script" not in page and "script-src" not in page
    assert "&lt;img src=x onerror=alert(1)&gt; &amp; &#34;quoted&#34;" in cell(page, 1)
    assert "int main() { return 0; }" in cell(page, 13)
    # A warp has 2 rows of 16 columns: 2 sectors of A, and 2 of B.
    assert "A load: sectors per request: 2 (ideal 1), partly coalesced" in cell(page, 10)
    assert "B load: sectors per request: 2 (ideal 2), coalesced" in cell(page, 10)
    assert "error: out-of-bounds" in cell(page, 8) and "off by one" in cell(page, 8)
    assert "error: out-of-bounds" not in cell(page, 9)
    assert '<a href="#line-8">Line 8</a>' in page
    assert (
        "Counted, as by <code>cudamm trace</code>, by executing the kernel on the CPU device at 64 x 64 x 64"
        in page
    )
    assert "on GeForce RTX 3080 10GB (sm_86, 68 multiprocessors)" in page
    assert "times of the CPU device are not those of a GPU" in page
    assert not re.search(r"fastest|winner|★|GFLOP|speed-up", page)


@pytest.mark.slow
def test_what_was_found_is_below_a_long_line_and_not_to_its_right(run, tmp_path, needs_nvcc):
    parameters = "const float *matrix_a, const float *matrix_b, float *matrix_c, const float unused_factor"
    signature = f"__global__ void product(const int rows, const int columns, const int inner, {parameters})"
    (tmp_path / "long.cu").write_text(
        "// args: M, N, K, A, B, C, 1.0\n// threads: 16, 16\n// grid: ceil(N / 16), ceil(M / 16)\n\n"
        + signature + " { const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + "
        "threadIdx.x; if (row < rows && column < columns) { float sum = 0; for (int k = 0; k < inner; ++k) "
        "sum += matrix_a[row * inner + k] * matrix_b[k * columns + column]; "
        "matrix_c[row * columns + column] = sum; } }\n"
    )  # fmt: skip
    assert run("report long.cu -n 32").status == 0
    page = (tmp_path / "long.html").read_text(encoding="utf-8")
    code, found = re.findall(r"<tr.*?</tr>", cell(page, 5), re.DOTALL)
    assert signature in code and code.count("<td>") == 1
    assert "B load: sectors per request" in found and signature not in found


@pytest.mark.slow
def test_a_kernel_that_cannot_be_traced_still_has_a_page(run, kernel, monkeypatch, tmp_path, request):
    from cudamm.compile import nvcc_compiler

    request.addfinalizer(nvcc_compiler.nvcc.cache_clear)
    monkeypatch.setattr(nvcc_compiler, "find_nvcc", lambda: None)
    nvcc_compiler.nvcc.cache_clear()
    monkeypatch.setattr("cudamm.analysis.trace._observed", refuse_to_observe)
    kernel()
    assert run("report my.cu -n 16 -o page.html").status == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The accesses are not known: the test watches nothing." in page
    assert "The occupancy is not known: nvcc was not found" in page
    assert "no error was found" in page and "float sum = 0;" in cell(page, 10)


def refuse_to_observe(*_):
    from cudamm.errors import KernelError

    raise KernelError("the test watches nothing")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("my.cu --csv -", ["--csv", "file of results"]),
        ("my.cu --no-occupancy", ["--occupancy", "file of results"]),
        ("results.json -n 64", ["--size", "a kernel"]),
        ("results.json --gpu a100", ["--gpu", "a kernel"]),
        ("my.cu -n 64 -n 128", ["one size"]),
        ("my.cu --block 8,16", ["one value of each parameter"]),
        ("my.cu --dtype float64", ["float64"]),
        ("my.cu --gpu a1000000", ["a1000000", "rtx3090"]),
        ("my.cu --entry theirs", ["theirs", "mine"]),
        ("two.cu", ["several kernels", "--entry (mine, copy)"]),
        ("my.cu -o my.cu", ["-o my.cu would replace"]),
        ("nowhere.cu", ["no kernel file nowhere.cu"]),
        ("-", ["-o FILE"]),
    ],
)
def test_a_page_of_a_kernel_that_cannot_be_made_is_refused(run, kernel, results, tmp_path, line, words):
    text = kernel().read_text()
    (tmp_path / "two.cu").write_text(text + text.partition("\n\n")[2].replace("mine", "copy"))
    run(f"report {line}").refused(2, *words)
    assert_only(tmp_path, "my.cu", "results.json", "two.cu")
