"""Where output goes: terminals, pipes that close, other encodings; and how little `--help` loads."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import click
import pytest

from cudamm.cli.app import app

BENCH = "bench --device cpu --warmup 0 --runs 2 --times -n 16 "
ESCAPE = "\x1b"


@pytest.mark.parametrize("command", ["", *(command for command in app.commands)])
def test_help_loads_nothing_large(command):
    program = (
        "import sys\n"
        f"sys.argv = ['cudamm', *{command.split()!r}, '--help']\n"
        "from cudamm.cli import main\n"
        "try:\n    main()\n"
        "finally:\n"
        "    found = {'numpy', 'rich', 'pycuda', 'matplotlib', 'plotext'} & set(sys.modules)\n"
        "    print('loaded:', *sorted(found), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: cudamm {command}".rstrip())
    assert done.stderr == "loaded:\n"


def test_help_names_every_exit_status_and_option(run):
    assert all(f"{status} " in run("--help").stdout for status in (0, 1, 2, 3))
    assert run("--version").stdout.startswith("cudamm")
    options = run("bench --help").stdout
    for option in ("--method", "-n", "--block", "--dtype", "--runs", "--seed", "--device", "--json"):
        assert option in options


def test_help_lists_the_commands_by_what_they_are_for(run):
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
        ("trace", ["Kernel", "Problem", "Tracing", "Drawing", "Output"], ["8]", "sm_90", "3]"]),
        (
            "roofline",
            ["Kernel", "Problem", "Roofs", "Measuring", "Device", "Output"],
            ["until the median is stable]"],
        ),
        ("compare", ["Comparison", "Output"], ["95%"]),
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
        command.make_context(name, shlex.split(command_line)[2:])  # raises what is wrong with it


@pytest.mark.parametrize("name", app.commands)
def test_help_ends_each_option_with_its_default(name):
    command = app.get_command(click.Context(app), name)
    context = click.Context(command, info_name=name)
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record is not None and option.opts != ["-h", "--help"] and option.param_type_name == "option":
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
def test_options_that_do_not_go_together_are_named_in_one_line(run, line, options):
    run(line).refused(2, *options)


@pytest.mark.parametrize(
    "line", ["--help", "devices", BENCH + "-m naive", BENCH + "-m naive --json -", "verify -n 16 -m naive"]
)
def test_a_reader_that_leaves_ends_it_quietly(line, tmp_path):
    ours, theirs = os.pipe()
    os.close(ours)  # what `| head -1` does after its line, here before the first
    done = subprocess.run(
        [sys.executable, "-m", "cudamm", *line.split()],
        stdout=theirs, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False, timeout=60,
    )  # fmt: skip
    os.close(theirs)
    assert done.stderr == ""


@pytest.mark.parametrize("line", ["devices", BENCH + "-m naive --json -"])
@pytest.mark.parametrize("output", [">/dev/full", ">&-"])
def test_an_output_that_takes_nothing_is_no_traceback(spawn, line, output):
    ended = spawn(line, redirect=output)
    assert "Traceback" not in ended.stderr, ended.stderr[-300:]
    assert ended.stderr.count("\n") <= 1


@pytest.mark.parametrize(
    "line", [BENCH + "-m naive", BENCH + "-m naive --style report", "verify -n 16 -m naive"]
)
def test_a_terminal_without_unicode_still_gets_the_results(spawn, line):
    ended = spawn(line, PYTHONIOENCODING="ascii")
    assert "Traceback" not in ended.stderr, ended.stderr[-300:]
    assert ended.status == 0 and ("ok" in ended.stdout or "Success!" in ended.stdout)


def test_output_that_is_no_terminal_has_no_escape_codes_and_no_progress(spawn):
    for line in (BENCH + "-m naive --block 8,16", "verify -n 16 -m naive", "devices"):
        ended = spawn(line)
        assert ended.status == 0
        assert ESCAPE not in ended.stdout
        assert ended.stderr == ""


def test_a_terminal_gets_colour_unless_it_asks_for_none(on_terminal):
    line = BENCH + "-m naive --block 8,16"
    assert ESCAPE in on_terminal(line).stdout
    assert ESCAPE not in on_terminal(line, NO_COLOR="1").stdout


def test_tables_fit_the_terminal(on_terminal):
    shown = on_terminal(BENCH + "-m tiled-padded,naive --block 16", COLUMNS="80", NO_COLOR="1").stdout
    text = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert max(map(len, text.splitlines())) <= 80
    rows = [line for line in text.splitlines() if "naive †" in line or "tiled-padded †" in line]
    assert len(rows) == 2
    for row in rows:
        assert "✓" in row and "…" not in row


def test_the_progress_bar_shows_names_literally(on_terminal, kernel):
    kernel("[red]x.cu")
    shown = on_terminal(BENCH + "--kernel [red]x.cu", stderr=True, COLUMNS="120").stderr
    assert "[red]x" in shown


def test_markup_in_names_and_messages_is_printed_literally(run, kernel):
    kernel("[bold]x[red].cu")
    for style in ("table", "report"):
        assert "[bold]x[red]" in run(f"{BENCH} --kernel [bold]x[red].cu --style {style}").stdout
    assert "[bold]x[red]" in run("verify --device cpu -n 16 --kernel [bold]x[red].cu").stdout
    kernel("[bold]y.cu", "float sum = 0;", 'static_assert(BLOCK_SIZE == 8, "[red]z[/red]"); float sum = 0;')
    for style in ("table", "report"):
        ended = run(f"{BENCH} --kernel [bold]y.cu --block 8,16 --style {style}")
        assert ended.status == 1
        assert "[bold]y.cu:10:" in ended.stdout and "[red]z[/red]" in ended.stdout


def test_the_line_of_an_error_is_a_number(run, kernel):
    # “:100:” is the name of an emoji.
    path = kernel("long.cu", "float sum = 0;", "float sum = undeclared;")
    text = path.read_text().replace("__global__", "\n" * 90 + "__global__", 1)
    path.write_text(text)
    line = text[: text.index("undeclared")].count("\n") + 1
    assert line == 100
    for style in ("table", "report"):
        assert "long.cu:100:" in run(f"{BENCH} -m naive --kernel long.cu --style {style}").stdout


def test_a_kernel_may_print_without_spoiling_the_json(spawn, kernel):
    path = kernel("chatty.cu", "float sum = 0;", 'float sum = 0; if (row + col == 0) printf("hello\\n");')
    path.write_text(path.read_text().replace("__global__", "#include <cstdio>\n__global__", 1))
    ended = spawn(f"{BENCH} --kernel chatty.cu --json -")
    assert ended.status == 0
    assert ended.records[0]["correct"] is True
