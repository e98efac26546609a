"""The table of `doctor` for known findings."""

from __future__ import annotations

import io

from rich.console import Console

from cudamm.devices.diagnosis import Diagnosis
from cudamm.output import doctor_table

FINDINGS = [
    Diagnosis("Python", "ok", "3.11"),
    Diagnosis("persistence mode", "warning", "off", "turn it on: nvidia-smi -pm 1"),
    Diagnosis("nvcc", "error", "none [found]", "install nvcc"),
    Diagnosis("nvcc again", "error", "none", "install nvcc"),
]


def shown(findings: list[Diagnosis], width: int = 160) -> list[str]:
    file = io.StringIO()
    doctor_table.render(Console(file=file, width=width, highlight=False), findings)
    return file.getvalue().splitlines()


def test_each_finding_is_a_row() -> None:
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown(FINDINGS) if "│" in line]
    assert rows == [[f.subject, f.status, f.found] for f in FINDINGS]


def test_advice_is_numbered_without_repetition_errors_first() -> None:
    lines = [line for line in shown(FINDINGS) if line[:1].isdigit()]
    assert lines == ["1. error: install nvcc", "2. warning: turn it on: nvidia-smi -pm 1"]


def test_findings_without_problems_have_no_advice() -> None:
    assert not any(line[:1].isdigit() for line in shown(FINDINGS[:1]))


def test_a_narrow_terminal_shows_every_character() -> None:
    long = "/a/very/long/folder/" * 10
    text = "".join(
        cell.strip() for line in shown([Diagnosis("cache", "ok", long)], 60) for cell in line.split("│")[3:4]
    )
    assert text == long


def test_the_document_has_the_device_and_whether_it_is_usable() -> None:
    document = doctor_table.document("gpu:1", False)
    assert (document["schema"], document["device"], document["usable"]) == ("cudamm.doctor/1", "gpu:1", False)
