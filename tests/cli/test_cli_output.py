"""The texts of `--help`, and output to terminals, to closed pipes and in other encodings."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys

import click
import pytest

from cudamm.cli.app import app

BENCH = "bench --device cpu --warmup 0 --runs 2 --times -n 16 "
NUMPY_BENCH = BENCH + "-m numpy "
"""A command that measures without compiling a kernel."""
ESCAPE = "\x1b"


def test_help_imports_no_large_package():
    commands = ["", *app.commands]
    program = f"""\
import sys
from cudamm.cli import main
for command in {commands!r}:
    sys.argv = ["cudamm", *command.split(), "--help"]
    try:
        main()
    except SystemExit as end:
        imported = {{"numpy", "rich", "pycuda", "matplotlib", "plotext"}} & set(sys.modules)
        print(f"{{command}}: status {{end.code}}, imported", *sorted(imported), file=sys.stderr)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stderr.splitlines() == [f"{command}: status 0, imported" for command in commands]
    usage_lines = [line for line in result.stdout.splitlines() if line.startswith("Usage: ")]
    assert [line.split(" [")[0] for line in usage_lines] == [f"Usage: cudamm {c}".rstrip() for c in commands]


def test_help_names_every_exit_status_and_common_option(run):
    shown = run("--help").stdout
    assert all(f"{status} " in shown for status in (0, 1, 2, 3))
    assert run("--version").stdout.startswith("cudamm")
    options = run("bench --help").stdout
    for option in ("--method", "-n", "--block", "--dtype", "--runs", "--seed", "--device", "--json"):
        assert option in options


def test_help_lists_the_commands_under_four_titles(run):
    shown = run("--help").stdout
    places = [shown.index(f"\n{title}:\n") for title in ("Run", "Understand", "Look", "Machine")]
    assert places == sorted(places)
    assert places[0] < shown.index("\n  bench ") < places[1] < shown.index("\n  trace ") < places[2]
    assert places[2] < shown.index("\n  report ") < places[3] < shown.index("\n  doctor ")


@pytest.mark.parametrize(
    ("command", "groups", "defaults"),
    [
        (
            "bench",
            ["Kernel", "Parameters", "Problem", "Measuring", "Device", "Output"],
            ["all]", "fmad", "0.5%", "2.0", "cold", "verify", "auto", "60.0", "table"],
        ),
        ("tune", ["Kernel", "Parameters", "Problem", "Search", "Store", "Device", "Output"], ["60s", "cold"]),
        (
            "trace",
            ["Kernel", "Problem", "Tracing", "Drawing", "Output"],
            ["8, all of a small product]", "sm_90", "3]"],
        ),
        (
            "roofline",
            ["Kernel", "Problem", "Roofs", "Measuring", "Device", "Output"],
            ["until the median is stable]"],
        ),
        ("compare", ["Comparison of results", "Output"], ["95%"]),
    ],
)
def test_help_of_a_command_groups_its_options_and_shows_their_defaults(run, command, groups, defaults):
    shown = " ".join(run(f"{command} --help").stdout.split())
    places = [shown.index(f" {title}: -") for title in groups]
    assert places == sorted(places)
    for default in defaults:
        assert f"[default: {default}" in shown
    assert "by default" not in shown and "(it is)" not in shown


@pytest.mark.parametrize("name", app.commands)
def test_help_of_a_command_begins_with_three_command_lines(run, name):
    usage, _, *lines = run(f"{name} --help").stdout.splitlines()
    examples = [line.strip() for line in lines[:3]]
    assert usage.startswith(f"Usage: cudamm {name}") and lines[3] == ""
    assert all(line.startswith(f"cudamm {name}") for line in examples) and len(set(examples)) == 3
    assert all(len(line) <= 80 for line in lines)
    command = app.get_command(click.Context(app), name)
    for example in examples:
        command_line = re.split(r" {2,}| > ", example)[0]
        command.make_context(name, shlex.split(command_line)[2:])  # raises if an option is wrong


@pytest.mark.parametrize("name", app.commands)
def test_help_ends_each_option_with_its_default(name):
    command = app.get_command(click.Context(app), name)
    context = click.Context(command, info_name=name)
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record is not None and "--help" not in option.opts and option.param_type_name == "option":
            assert re.search(r"\[default: [^()<>]+\]$", record[1]), record


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("bench -m naive -q -v", ["--quiet", "--verbose"]),
        ("bench -m naive --runs 3 --until-stable", ["--runs", "--until-stable"]),
        ("show -m tiled --ptx --sass", ["--ptx", "--sass"]),
        ("occupancy --threads 32 --load-cycles 4", ["--load-cycles", "--ilp"]),
        ("tune --forget --where BLOCK_SIZE<9", ["--forget", "--where"]),
    ],
)
def test_contradicting_options_are_refused_by_name(run, line, options):
    run(line).refused(2, *options)


@pytest.mark.long
@pytest.mark.parametrize("line", ["--help", NUMPY_BENCH, NUMPY_BENCH + "--json -"])
def test_a_reader_that_closes_the_pipe_causes_no_message(line, tmp_path):
    read_end, write_end = os.pipe()
    os.close(read_end)  # as `| head -1` does after its line
    result = subprocess.run(
        [sys.executable, "-m", "cudamm", *line.split()],
        stdout=write_end, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False, timeout=60,
    )  # fmt: skip
    os.close(write_end)
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("line", "redirect"),
    [("devices", ">&-"), ("devices", ">/dev/full"), (NUMPY_BENCH + "--json -", ">/dev/full")],
)
@pytest.mark.slow
def test_a_full_or_closed_standard_output_is_reported_in_one_line(spawn, line, redirect):
    result = spawn(line, redirect=redirect)
    assert "Traceback" not in result.stderr, result.stderr[-300:]
    assert result.stderr.count("\n") <= 1


def test_output_to_a_pipe_has_no_escape_codes_and_no_progress(spawn):
    result = spawn(NUMPY_BENCH)
    assert result.status == 0
    assert ESCAPE not in result.stdout
    assert result.stderr == ""


def test_verify_without_a_terminal_prints_no_escape_codes_and_no_progress(run):
    result = run("verify --device cpu -n 16 -m naive --dtype float32")
    assert result.status == 0 and ESCAPE not in result.stdout and result.stderr == ""


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        (BENCH + "-m naive", "ok"),
        (BENCH + "-m naive --style report", "Success!"),
        ("verify --device cpu -n 16 -m naive --dtype float32", "Success!"),
    ],
)
def test_output_in_ascii_has_plain_characters_for_symbols(monkeypatch, line, mark):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    with pytest.raises(SystemExit) as end:
        app.main(shlex.split(line), prog_name="cudamm")
    assert end.value.code == 0
    assert mark in written.getvalue().decode("ascii")


def test_a_table_on_a_terminal_is_coloured_unless_no_color_is_set(on_terminal):
    line = BENCH + "-m naive,numpy"
    assert ESCAPE in on_terminal(line).stdout
    assert ESCAPE not in on_terminal(line, NO_COLOR="1").stdout


def test_a_table_fits_the_terminal(on_terminal):
    shown = on_terminal(BENCH + "-m tiled-padded,naive", COLUMNS="80", NO_COLOR="1").stdout
    assert max(map(len, shown.splitlines())) <= 80
    rows = [line for line in shown.splitlines() if "naive †" in line or "tiled-padded †" in line]
    assert len(rows) == 2
    for row in rows:
        assert "✓" in row and "…" not in row


@pytest.fixture
def kernel_named_like_markup(kernel):
    kernel("[bold]x[red].cu")


@pytest.mark.usefixtures("kernel_named_like_markup")
def test_the_progress_bar_shows_markup_in_names_literally(on_terminal):
    shown = on_terminal(BENCH + "--kernel [bold]x[red].cu", stderr=True, COLUMNS="120").stderr
    assert "[bold]x[red]" in shown


@pytest.mark.usefixtures("kernel_named_like_markup")
def test_tables_show_markup_in_names_literally(run):
    for style in ("table", "report"):
        assert "[bold]x[red]" in run(f"{BENCH} --kernel [bold]x[red].cu --style {style}").stdout
    assert "[bold]x[red]" in run("verify --device cpu -n 16 --kernel [bold]x[red].cu").stdout


@pytest.mark.parametrize("style", ["table", "report"])
def test_compiler_messages_show_markup_and_emoji_codes_literally(run, kernel, style):
    path = kernel("[bold]y.cu", "float sum = 0;", 'static_assert(BLOCK_SIZE == 8, "[red]z[/red]");')
    text = path.read_text().replace("__global__", "\n" * 90 + "__global__", 1)
    path.write_text(text)
    line = text[: text.index("static_assert")].count("\n") + 1
    assert line == 100  # “:100:” is the code of an emoji
    result = run(f"{BENCH} -m numpy --kernel [bold]y.cu --style {style}")
    assert result.status == 1
    assert "[bold]y.cu:100:" in result.stdout and "[red]z[/red]" in result.stdout


def test_what_a_kernel_prints_does_not_mix_with_json_on_standard_output(run, kernel, capfd):
    kernel("chatty.cu", "float sum = 0;", 'float sum = 0; if (row + col == 0) printf("hello\\n");')
    result = run(f"{BENCH} --kernel chatty.cu --json -")
    assert result.status == 0
    assert result.records[0]["correct"] is True
    printed = capfd.readouterr()
    assert "hello" in printed.err and "hello" not in printed.out
