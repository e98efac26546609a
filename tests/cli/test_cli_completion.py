"""Completion in shells: what they are told when a user presses Tab, and the script that makes them ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from cudamm.kernels.ladder import ladder


def completed(*words: str) -> list[str]:
    """What bash is offered for the last word, a line each: its kind, and the word."""
    environment = os.environ | {
        "_CUDAMM_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("cudamm", *words)),
        "COMP_CWORD": str(len(words)),
    }
    command = [sys.executable, "-c", "from cudamm.cli import main; main()"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    return result.stdout.splitlines()


def test_commands_and_options() -> None:
    assert completed("be") == ["plain,bench"]
    assert "plain,--max-time" in completed("bench", "--max")


def test_methods_and_lists_of_them() -> None:
    names = {name for method in ladder() for name in (method.name, *method.aliases)}
    offered = {line.removeprefix("plain,") for line in completed("bench", "-m", "ti")}
    assert offered == {name for name in names if name.startswith("ti")} != set()
    assert "plain,naive,tiled" in completed("bench", "-m", "naive,ti")
    assert completed("bench", "-m", "cub") == ["plain,cublas"]


def test_types_devices_and_files() -> None:
    assert completed("verify", "--dtype", "float") == ["plain,float32", "plain,float64"]
    assert completed("bench", "--device", "c") == ["plain,cpu"]
    assert completed("bench", "--kernel", "my") == ["file,my"]
    assert completed("bench", "--json", "my") == ["file,my"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_takes(run, shell, tmp_path) -> None:
    result = run(f"completion {shell}")
    assert (result.status, result.stderr) == (0, "")
    assert "_CUDAMM_COMPLETE" in result.stdout and "cudamm" in result.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    script = tmp_path / "script"
    script.write_text(result.stdout)
    subprocess.run([shell, "-n", str(script)], check=True)


def test_another_shell_is_refused(run) -> None:
    run("completion tcsh").refused(2, "tcsh")
