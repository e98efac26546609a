"""The output of `occupancy`: the numbers of the records at every width, and the sentences below."""

from __future__ import annotations

import functools
import io
import itertools
import re
from fractions import Fraction

import pytest
from rich.console import Console

from cudamm.compile.resources import Resources
from cudamm.kernels.architecture import find_architecture
from cudamm.occupancy.block_size import best_of_numbers
from cudamm.occupancy.configurations import Numbers, occupancy_of_numbers
from cudamm.occupancy.occupancy_questions import Questions, add_answers
from cudamm.occupancy.occupancy_result import OccupancyResult, Step
from cudamm.output import occupancy_answers, occupancy_output

WIDTHS = [60, 80, 120, 240]
UNUSED = 2**31 - 1
# The rows of a sheet: labels and fields of the record. KERNELS has the rows that only kernels have.
FIELDS = {
    "threads per block": "threads_per_block",
    "registers per thread": "registers_per_thread",
    "registers allocated per block": "allocated_registers_per_block",
    "shared memory per block (bytes)": "shared_bytes_per_block",
    "reserved by the driver": "reserved_shared_bytes_per_block",
    "allocated in total": "allocated_shared_bytes_per_block",
    "barriers per block": "barriers",
    "active blocks per SM": "active_blocks",
    "active warps per SM": "active_warps",
    "active threads per SM": "active_threads",
}
LIMITS = {
    "blocks per SM allowed by warps": "warps", "by the limit of blocks": "blocks",
    "by registers": "registers", "by shared memory": "shared", "by barriers": "barriers",
}  # fmt: skip
DEVICE_OCCUPANCY = "occupancy of the device"
KERNELS = {
    "static": "static_shared_bytes", "dynamic": "dynamic_shared_bytes",
    "local memory per thread (bytes)": "local_bytes_per_thread", "constant memory (bytes)": "constant_bytes",
    "blocks in the grid": "grid_blocks",
}  # fmt: skip


@functools.cache
def _every_bare(*names: str) -> list[OccupancyResult]:
    architectures = [find_architecture(name) for name in names or ("sm_86",)]
    numbers = Numbers(tuple(range(32, 1025, 31)), (17, 40, 96), (0, 1234, 20_001), grid_blocks=1000)
    return [result for result in occupancy_of_numbers(architectures, numbers, None) if result.active_blocks]


def bare(count: int, *names: str) -> list[OccupancyResult]:
    """Return that many different configurations that can run."""
    found = _every_bare(*names)
    return found[:: len(found) // count][:count]


def kernels(count: int, *names: str) -> list[OccupancyResult]:
    """Return the configurations of `bare` as results of kernels."""
    return [
        result._replace(
            method=("tiled-transposed", "naive")[i % 2],
            params={"BLOCK_SIZE": i + 2, "COARSE": 4},
            dtype="float32",
            resources=Resources(result.registers_per_thread, 101, 1203 + i, 305 + i, 407 + i, 5009, 1, None),
            dynamic_shared_bytes=61_011 + i,
        )
        for i, result in enumerate(bare(count, *names))
    ]  # fmt: skip


def shown(results, width=240, sources=()):
    file = io.StringIO()
    occupancy_output.render(Console(file=file, width=width, highlight=False, emoji=False), results, sources)
    return file.getvalue()


def tables(text: str) -> list[str]:
    """Return the lines of the tables, without the sentences below them."""
    below = re.compile(r"… and|cannot run |tail: |SM: |Changes that|sm_\d+: cycles")
    return list(itertools.takewhile(lambda line: not below.match(line), text.splitlines()))


def share(value: float) -> str:
    """Return a share rounded to a tenth of a percent, as tables print it."""
    return f"{round(1000 * value) / 10:g}%"


def cells(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if "│" in line]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 6])
@pytest.mark.parametrize("make", [bare, kernels])
def test_a_sheet_has_every_number_of_its_records(make, count: int, width: int) -> None:
    results = make(count)
    lines = tables(shown(results, width))
    assert max(map(len, lines)) <= width
    found: dict[str, list[str]] = {}
    labels = [*FIELDS, *LIMITS, *KERNELS, "occupancy", DEVICE_OCCUPANCY, "waves", "spills: stores / loads"]
    for label, *values in cells(lines):
        # On a narrow terminal a long label ends in “…”, but no number does.
        (label,) = (
            [whole for whole in labels if whole.startswith(label[:-1])] if label.endswith("…") else [label]
        )
        found.setdefault(label, []).extend(values)
    for label, name in (FIELDS | (KERNELS if make is kernels else {})).items():
        expected = [f"{r.record()[name]:,}" for r in results]
        assert found[label] == expected, label
    for label, name in LIMITS.items():
        expected = [r.record()["limits"][name] for r in results]
        assert found[label] == ["-" if limit == UNUSED else f"{limit:,}" for limit in expected]
    assert found["occupancy"] == [share(r.occupancy) for r in results]
    assert found[DEVICE_OCCUPANCY] == [share(r.device_occupancy) for r in results]
    assert found["waves"] == [f"{r.waves:.2f}" for r in results]
    if make is kernels:
        assert found["spills: stores / loads"] == [
            f"{r.record()['spill_store_bytes']} / {r.record()['spill_load_bytes']}" for r in results
        ]
    else:
        assert "local memory per thread (bytes)" not in found


def numbers_of(result: OccupancyResult) -> set[str]:
    """Return every number of a record that a row may contain."""
    record = result.record()
    names = [*FIELDS.values(), *(KERNELS.values() if result.resources else ["grid_blocks"])]
    names += ["spill_store_bytes", "spill_load_bytes"] if result.resources else []
    numbers = [record[name] for name in names] + list(record["limits"].values())
    shares = [share(record["occupancy"]), share(record["device_occupancy"])]
    return {f"{n:,}" for n in numbers} | {"-", f"{record['waves']:.2f}", *shares}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [bare, kernels])
@pytest.mark.parametrize("names", [("sm_86",), ("sm_75", "sm_90")])
def test_each_row_has_only_numbers_of_its_record(make, names, width: int) -> None:
    results = make(7, *names)
    lines = tables(shown(results, width))
    assert max(map(len, lines)) <= width
    assert not [line for line in lines if re.search(r"\d…|…\d", line)], "a number was cut off"
    rows = [re.sub("│", " ", line).split() for line in lines]
    rows = [row for row in rows if any(word.endswith("%") for word in row)]  # without folded lines
    assert len(rows) == len(results)
    for row, result in zip(rows, results, strict=True):
        numbers = [word for word in row if re.fullmatch(r"[\d,.]+%?|-", word)]
        assert set(numbers) <= numbers_of(result)
        # Numbers that are shown at every width.
        least = ["threads_per_block", "active_blocks"]
        least += ["registers_per_thread", "active_warps"] if width > 60 or make is bare else []
        for name in least:
            assert f"{result.record()[name]:,}" in numbers
        assert share(result.occupancy) in numbers
        assert len(numbers) >= (14 if width == 240 else len(least) + 1)


@pytest.mark.parametrize("width", [80, 120, 240])
@pytest.mark.parametrize("names", [("sm_86",), ("sm_75", "sm_90")])
def test_rows_of_kernels_are_distinguishable(names, width: int) -> None:
    results = kernels(12, *names)
    lines = tables(shown(results, width))
    assert not [line for line in lines if "…" in line]
    for result in results:
        size = f"BLOCK_SIZE={result.params['BLOCK_SIZE']}"
        (line,) = (line for line in lines if size in line.split())
        assert (result.arch in line) == (len(names) > 1)


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_bare_numbers_are_distinguishable(width: int) -> None:
    of = find_architecture("sm_86")
    results = list(occupancy_of_numbers([of], Numbers((256,), (32,), tuple(range(0, 40_000, 5_000))), None))
    rows = [re.sub("│", " ", line).split() for line in tables(shown(results, width))]
    for result in results:
        assert sum(f"{result.shared_bytes_per_block:,}" in row[:4] for row in rows) >= 1, result


def test_more_than_100_configurations_are_cut_to_40_and_summarised() -> None:
    results = bare(150)
    results[3], results[77] = (
        r._replace(reason=f"no [bold]room[/] in {i}", active_blocks=0, occupancy=0.0)
        for i, r in ((3, results[3]), (77, results[77]))
    )
    text = shown(results)
    best = max(r.occupancy for r in results)
    count = sum(r.occupancy == best for r in results)
    assert (
        f"… and 110 more. {count} of all 150 have the highest occupancy, {share(best)}. --json FILE" in text
    )
    assert "no [bold]room[/] in 3" in text and "in 77" not in text
    assert len(re.findall(r"cannot run *│", text)) == 1
    assert sum(any(cell.endswith("%") for cell in row) for row in cells(tables(text))) == 40
    assert "more. " not in shown(results[:100])


@pytest.mark.parametrize("count", [3, 150])
def test_suggestions_that_are_not_shown_are_counted(count: int) -> None:
    numbers = Numbers((), tuple(range(20, 20 + count)))
    results = list(best_of_numbers([find_architecture("sm_86")], numbers, None))
    text = shown(results)
    more = re.search(r"… and (\d+) more", text)
    rows = [row for row in cells(tables(text)) if any("registers" in cell for cell in row)]
    assert len(rows) + (int(more[1]) if more else 0) == count
    for row, result in zip(rows, results, strict=False):
        found = result.suggestion
        assert found is not None
        assert row[0] == "sm_86" and row[1].startswith(f"{result.registers_per_thread} registers")
        assert row[2:5] == [
            str(found.threads_per_block),
            share(found.occupancy),
            f"{found.min_grid_blocks:,}",
        ]
        assert row[5:7] == [str(found.rounded_threads), str(found.block_edge)]
        assert row[7:9] == [f"{result.threads_per_block} threads", share(result.occupancy)]


@pytest.mark.parametrize("width", WIDTHS)
def test_suggestions_fit_the_width_and_name_the_architecture(width: int) -> None:
    architectures = [find_architecture(name) for name in ("sm_75", "sm_90")]
    text = shown(list(best_of_numbers(architectures, Numbers((), (32, 70)), None)), width)
    sentences = [line for line in text.splitlines() if "a lower occupancy" in line]
    lines = [line for line in tables(text) if line not in sentences]
    assert max(map(len, lines)) <= width
    assert len(sentences) == len(set(sentences)) == 2
    for name in ("sm_75", "sm_90"):
        assert sum(name in line for line in lines) >= 2, name
        assert sum(name in line for line in sentences) == 1, name


def test_a_suggestion_for_a_row_of_threads_does_not_mention_squares() -> None:
    (result,) = best_of_numbers([find_architecture("sm_86")], Numbers((), (32,)), None)
    (fixed,) = occupancy_of_numbers([find_architecture("sm_86")], Numbers((1024,), (32,)), None)
    fixed = fixed._replace(method="mine", resources=kernels(1)[0].resources, suggestion=result.suggestion)
    assert "square" not in shown([fixed])


@pytest.mark.parametrize("count", [1, 5])
def test_results_that_differ_in_type_or_size_are_distinguishable(count: int) -> None:
    results = [
        r._replace(dtype=dtype, m=size, n=size + 1, k=size + 2)
        for r in kernels(count) for dtype in ("float32", "float64") for size in (100, 200)
    ]  # fmt: skip
    text = "\n".join(tables(shown(results)))
    assert text.count("float32") == text.count("float64") == 2 * count
    assert text.count("100x101x102") == text.count("200x201x202") == 2 * count
    tails = [r._replace(waves=1.1 + i / 10, grid_blocks=1000 + i) for i, r in enumerate(results[:3])]
    names = [line.partition(" waves")[0].rpartition(":")[0] for line in occupancy_output.tails(tails)]
    assert len(set(names)) == 3


def test_the_three_worst_tails_are_reported() -> None:
    (result,) = occupancy_of_numbers(
        [find_architecture("sm_86")], Numbers((256,), (48,), grid_blocks=1), None
    )
    blocks_per_wave = 5 * 82
    results = []
    for waves in (0.5, 1.0, 1.1, 2.0, 2.5, 1.95, 10.1, 1.3, 1.7, 40.2):
        blocks = round(waves * blocks_per_wave)
        results.append(result._replace(grid_blocks=blocks, waves=blocks / blocks_per_wave))
    text = shown(results)
    assert "tail: 1 more with such a last wave" in text and "more with less" not in text
    sparse, *lines = [line for line in text.splitlines() if line.startswith("tail: 256")]
    assert "the grid fills only 50% of one wave: it has 205 blocks, and the device has room for 410" in sparse
    assert all(line.startswith("tail: 256 threads, 48 registers, 0 bytes on sm_86: ") for line in lines)
    pattern = re.compile(r"([\d.]+) waves\. The last wave has only (\d+) of 410 .* then ([\d.]+)% of")
    found = [pattern.search(line) for line in lines]
    assert [match and match.groups() for match in found] == [
        ("1.10", "41", "55"), ("1.30", "123", "65"), ("2.50", "205", "83.3")
    ]  # fmt: skip
    assert "tail" not in shown([r for r in results if r.waves in (1.0, 2.0)])
    assert "tail" not in shown([result._replace(waves=None), result._replace(waves=1.95, grid_blocks=800)])


def test_the_emptiest_grids_of_all_architectures_are_reported_and_the_others_counted() -> None:
    numbers = Numbers((64, 128, 256), (32,), grid_blocks=88)
    small, large = (find_architecture(name) for name in ("sm_80", "sm_90"))
    found = occupancy_output.tails(list(occupancy_of_numbers([small, large], numbers, None)))
    assert [re.findall(r"(\d+) threads.* on (sm_\d+)", line) for line in found[:3]] == [
        [("64", "sm_90")], [("64", "sm_80")], [("128", "sm_90")]
    ]  # fmt: skip
    assert found[3:] == ["tail: 3 more with less than one wave"]


LIMIT = (
    "; __launch_bounds__(256, 6) before the kernel's name, or nvcc -maxrregcount=40, limits a thread to 40 "
    "registers (values beyond them spill to local memory, which takes time); if a thread computes several "
    "elements of C, fewer need fewer registers"
)
"""How to reach 40 registers in blocks of 256 threads, 6 of which then fit."""


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (Step(6, 48, 1.0, registers_per_thread=40),
         f"with 40 registers per thread (now 48), 6 blocks fit (now 5): 100% occupancy (now 83.3%){LIMIT}"),
        (Step(1, 8, 0.17, shared_bytes_per_block=2000),
         "with 1,000 bytes less shared memory (2,000 per block), 1 block fits (now 5): 17% occupancy "
         "(now 83.3%)"),
        (Step(6, 48, 1.0, shared_bytes_per_block=2999),
         "with 1 byte less shared memory (2,999 per block), 6 blocks fit (now 5): 100% occupancy "
         "(now 83.3%)"),
        (Step(6, 48, 1.0, 40, 2000),
         "with 40 registers per thread (now 48) and 1,000 bytes less shared memory (2,000 per block), "
         f"6 blocks fit (now 5): 100% occupancy (now 83.3%){LIMIT}"),
        (Step(11, 44, 44 / 48, threads_per_block=128),
         "blocks of 128 threads (now 256) would give 91.7% occupancy (now 83.3%)"),
        (Step(6, 48, 1.0, threads_per_block=64, params={"EDGE": 8}),
         "-D EDGE=8, with blocks of 64 threads (now 256), would give 100% occupancy (now 83.3%); if the file "
         "has another number, the kernel may rely on it: verify it with -D EDGE=8 first"),
    ],
)  # fmt: skip
def test_a_step_is_described_in_a_sentence(step: Step, line: str) -> None:
    (result,) = occupancy_of_numbers([find_architecture("sm_86")], Numbers((256,), (48,), (3000,)), None)
    assert occupancy_answers.step_lines(result._replace(steps=(step,))) == [line]
    assert f"256 threads, 48 registers, 3,000 bytes on sm_86: {line}" in shown(
        [result._replace(steps=(step,))], 60
    )


def test_a_configuration_without_steps_gets_a_reason() -> None:
    of = find_architecture("sm_86")
    full, stuck = occupancy_of_numbers([of], Numbers((256, 1024), (40,)), None)
    assert occupancy_answers.step_lines(full._replace(steps=())) == [
        "the occupancy is full: an SM has room for 48 warps"
    ]
    assert occupancy_answers.step_lines(stuck._replace(steps=())) == [
        "no change of registers, shared memory or block size that was tried raises the occupancy"
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_latency_table_has_the_numbers_of_the_records(width: int) -> None:
    questions = Questions(independent=(1, 32), load_cycles=Fraction(500))
    results = list(add_answers(kernels(3), [find_architecture("sm_86")], questions, None))
    text = shown(results, width, ["sm_86: cycles of a load: as given"])
    lines = text[text.index("Is the latency") :].splitlines()
    lines = lines[: lines.index("sm_86: cycles of a load: as given")]
    assert max(map(len, lines)) <= width
    found = [
        line.split() for line in (re.sub("│", " ", line) for line in lines) if re.search("yes|no ", line)
    ]
    rows = [(result, row) for result in results for row in result.latency or ()]
    assert len(found) == len(rows)
    for words, (result, row) in zip(found, rows, strict=True):
        assert words[-9:] == [
            str(row.independent), f"{row.instruction_cycles:g}", str(result.active_warps),
            f"{row.hidden_cycles:g}", "≥" if row.covered else "<", "500", "yes" if row.covered else "no",
            f"{row.warps_needed:,}", f"{row.independent_needed:,}",
        ]  # fmt: skip


def test_names_and_reasons_are_not_interpreted_as_markup() -> None:
    (result,) = kernels(1)
    text = shown(
        [result._replace(method="a[red]b:x:", reason="my.cu:100:5: [bold]x[/bold]", active_blocks=0)]
    )
    assert "a[red]b:x:" in text and "my.cu:100:5: [bold]x[/bold]" in text and "cannot run" in text
