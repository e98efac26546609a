"""Completion in shells: the words offered when a user presses Tab, and the script that asks for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from cudamm.kernels.ladder import ladder


def variables(*words: str) -> dict[str, str]:
    """Return the environment variables with which bash asks for completions of the last word."""
    return {
        "_CUDAMM_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("cudamm", *words)),
        "COMP_CWORD": str(len(words)),
    }


@pytest.fixture
def complete(run, monkeypatch) -> Callable[..., list[str]]:
    """Return a function that returns the completions of the last word: the kind and the word of each."""

    def complete(*words: str) -> list[str]:
        with monkeypatch.context() as patch:
            for name, value in variables(*words).items():
                patch.setenv(name, value)
            result = run("")
        assert (result.status, result.stderr) == (0, "")
        return result.stdout.splitlines()

    return complete


def test_a_shell_gets_completions_from_a_process() -> None:
    command = [sys.executable, "-c", "from cudamm.cli import main; main()"]
    environment = os.environ | variables("be")
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("plain,bench\n", "")


def test_options_are_completed(complete) -> None:
    assert "plain,--max-time" in complete("bench", "--max")


def test_methods_and_lists_of_methods_are_completed(complete) -> None:
    names = {name for method in ladder() for name in (method.name, *method.aliases)}
    offered = {line.removeprefix("plain,") for line in complete("bench", "-m", "ti")}
    assert offered == {name for name in names if name.startswith("ti")} != set()
    assert "plain,naive,tiled" in complete("bench", "-m", "naive,ti")
    assert complete("bench", "-m", "cub") == ["plain,cublas", "plain,cublaslt"]


def test_types_devices_and_files_are_completed(complete) -> None:
    assert complete("verify", "--dtype", "float") == [
        "plain,float32",
        "plain,float64",
        "plain,float16",
        "plain,float8_e4m3",
        "plain,float16_to_float32",
        "plain,float8_e4m3_to_float32",
    ]
    assert complete("bench", "--device", "c") == ["plain,cpu"]
    assert complete("bench", "--kernel", "my") == ["file,my"]
    assert complete("bench", "--json", "my") == ["file,my"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_accepts_the_script(run, shell, tmp_path) -> None:
    result = run(f"completion {shell}")
    assert (result.status, result.stderr) == (0, "")
    assert "_CUDAMM_COMPLETE" in result.stdout and "cudamm" in result.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    script = tmp_path / "script"
    script.write_text(result.stdout)
    subprocess.run([shell, "-n", str(script)], check=True)


def test_an_unsupported_shell_is_refused(run) -> None:
    run("completion tcsh").refused(2, "tcsh")
