"""Files in the current folder that are named like modules are not executed."""

from __future__ import annotations

import subprocess
import sys

from cudamm.execution.module_command import module_command

NAMES = ("random", "numpy", "json", "runpy", "cudamm")


def plant(folder):
    """Write modules that report that they are executed."""
    for name in NAMES:
        path = folder / (f"{name}/__init__.py" if name == "cudamm" else f"{name}.py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"open({str(folder / 'executed')!r}, 'a').write({name!r})\nraise SystemExit(9)\n")


def test_a_command_and_its_worker_execute_no_file_of_the_current_folder(workspace):
    """The command is a script in another folder, as an installed one is."""
    plant(workspace.folder)
    script = workspace.folder.parent / "script"
    script.write_text("from cudamm.cli import main\nmain()\n")
    command = [sys.executable, str(script), "verify", "--device", "cpu", "-m", "naive", "-n", "16"]
    ended = subprocess.run(
        command, cwd=workspace.folder, env=workspace.environment, capture_output=True, text=True, check=False
    )
    assert not (workspace.folder / "executed").exists()
    assert ended.returncode == 0 and "Success" in ended.stdout, ended.stderr
    workspace.assert_nothing_left()


def test_a_module_is_found_on_the_path_of_the_process_that_starts_it(tmp_path, monkeypatch):
    plant(tmp_path)
    folder = tmp_path / "a folder: with signs"
    folder.mkdir()
    (folder / "planted_module.py").write_text(
        "import sys, random\nprint(__name__, sys.argv[1:], sys.path[0])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(folder), *sys.path])
    command = module_command("planted_module", "one", "a b")
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stdout == f"__main__ ['one', 'a b'] {folder}\n", ended.stderr
    assert not (tmp_path / "executed").exists()
