"""Architectures found by name, and their table against NVIDIA's header, guide and compiler."""

from __future__ import annotations

import dataclasses
import re
import subprocess

import pytest

from cudamm.compile.toolkit import find_nvcc
from cudamm.errors import UsageError
from cudamm.kernels.architecture import ARCHITECTURES, Architecture, find_architecture

KB = 1024
UNPUBLISHED = {"sm_88", "sm_107"}
ALL = list(ARCHITECTURES.values())
KNOWN_TO_HEADER = [a for a in ALL if a.capability >= (3, 0)]

# CUDA Programming Guide, “Maximum number of resident warps per SM”, by compute capability.
RESIDENT_WARPS = {
    24: ("1.0", "1.1"),
    32: ("1.2", "1.3", "7.5"),
    48: ("2.0", "2.1", "8.6", "8.7", "8.9", "11.0", "12.0", "12.1"),
    64: ("3.0", "3.2", "3.5", "3.7", "5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0", "7.2", "8.0", "9.0",
         "10.0", "10.3"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sm_90", "sm_90"),
        ("SM90", "sm_90"),
        ("9.0", "sm_90"),
        ("90", "sm_90"),
        ("sm_90a", "sm_90a"),
        ("compute_90", "sm_90"),
        ("COMPUTE_100F", "sm_100f"),
        (" sm_86 ", "sm_86"),
        ("12.1", "sm_121"),
        ("121", "sm_121"),
        ("1.0", "sm_10"),
        ("10.0", "sm_100"),
        ("10", "sm_10"),
        ("100", "sm_100"),
        ("sm_8.6", "sm_86"),
    ],
)
def test_each_spelling_of_a_name_is_understood(text: str, name: str) -> None:
    assert find_architecture(text).name == name


@pytest.mark.parametrize("architecture", ALL, ids=lambda a: a.name)
def test_each_architecture_is_found_by_each_of_its_names(architecture: Architecture) -> None:
    major, minor = architecture.capability
    for text in (
        architecture.name,
        f"{major}.{minor}",
        f"{major}{minor}",
        f"compute_{major}{minor}",
        architecture.name.upper(),
    ):
        assert find_architecture(text) is architecture or find_architecture(text) == architecture
    # A suffix changes the compiled code, not the limits. `a` exists from 9.0 on, `f` from 10.0 on.
    for suffix, since in (("a", (9, 0)), ("f", (10, 0))):
        if architecture.capability >= since:
            suffixed = find_architecture(f"{architecture.name}{suffix}")
            assert (
                suffixed.name == architecture.name + suffix and suffixed.capability == architecture.capability
            )
            assert dataclasses.replace(suffixed, name=architecture.name) == architecture
        else:
            with pytest.raises(UsageError, match=f"nearest is {architecture.name};"):
                find_architecture(f"{architecture.name}{suffix}")


@pytest.mark.parametrize(
    ("text", "near", "words"),
    [
        ("sm_91", "sm_90", "unknown architecture"),
        ("8.5", "sm_86", "nearest"),
        ("sm_200", "sm_121", "nearest"),
        ("0.1", "sm_10", "nearest"),
        ("sm_88", "sm_87", "NVIDIA publishes no limits for it"),
        ("sm_107", "sm_103", "NVIDIA publishes no limits for it"),
        ("sm-90", "sm_90", "did you mean"),
        ("sm 86", "sm_86", "did you mean"),
        ("smm_75", "sm_75", "did you mean"),
        ("sm_90b", "sm_90", "did you mean"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_name(text: str, near: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        find_architecture(text)
    message = str(raised.value)
    hint, _, listed = message.partition("choose one of ")
    assert words in hint and text in hint
    assert re.findall(r"sm_\d+", hint.replace(text, "")) == [near]
    assert listed == ", ".join(ARCHITECTURES) + ", or all"


@pytest.mark.parametrize(
    ("text", "name"),
    [("a100", "sm_80"), ("A100", "sm_80"), ("H100", "sm_90"), ("rtx 3090", "sm_86"), ("RTX4090", "sm_89"),
     ("3090", "sm_86"), ("Tesla V100", "sm_70"), ("b200", "sm_100")],
)  # fmt: skip
def test_an_architecture_is_found_by_the_name_of_its_gpu(text: str, name: str) -> None:
    assert find_architecture(text) == ARCHITECTURES[name]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("a11", ""),
        ("geforce", ""),
        ("tesla", ""),
        ("H300", "did you mean h[12]00. "),
        ("rtx2080super", "did you mean rtx2080. "),
        ("GTX 1660 Ti", ""),
        ("rtx3009", "did you mean rtx3090. "),
    ],
)
def test_gpus_outside_the_table_are_refused_with_those_in_it(text: str, near: str) -> None:
    with pytest.raises(
        UsageError, match=rf"unknown architecture “{text}”: {near}GPUs known.*h200.* choose one of sm_10"
    ):
        find_architecture(text)


def test_only_unpublished_architectures_are_called_unpublished() -> None:
    for text in ("sm_91", "hopper", "", "sm_", "-1", "9.0.0", "sm_90aa", "compute", "９.٠"):
        with pytest.raises(UsageError, match="unknown architecture") as raised:
            find_architecture(text)
        assert "publishes" not in str(raised.value)


def test_a_name_of_thousands_of_digits_is_unknown() -> None:
    """Python converts no text of more than 4300 digits to a number."""
    with pytest.raises(UsageError, match="unknown architecture"):
        find_architecture("8" * 5000)


@pytest.mark.parametrize("architecture", ALL, ids=lambda a: a.name)
def test_limits_of_an_architecture_do_not_contradict_one_another(architecture: Architecture) -> None:
    assert architecture.threads % 32 == 0 and architecture.threads >= architecture.threads_per_block >= 512
    assert (
        architecture.registers >= architecture.registers_per_block
        and architecture.registers % architecture.partitions == 0
    )
    assert list(architecture.shared_configurations) == sorted(set(architecture.shared_configurations))
    assert architecture.shared_configurations[-1] == architecture.shared_bytes
    assert (
        architecture.shared_bytes_per_block + architecture.reserved_shared_bytes <= architecture.shared_bytes
    )
    assert architecture.shared_bytes % architecture.shared_granularity_bytes == 0
    # An SM holds its largest number of blocks if each is one warp.
    assert architecture.blocks * 32 <= architecture.threads
    assert architecture.multiprocessors >= 1 and architecture.gpu
    assert (
        str(architecture) == f"{architecture.name} ({architecture.gpu}, {architecture.multiprocessors} SMs)"
    )


def test_resident_warps_are_those_of_the_guide() -> None:
    published = {
        capability: warps for warps, capabilities in RESIDENT_WARPS.items() for capability in capabilities
    }
    assert {".".join(map(str, a.capability)): a.warps for a in ALL} == published
    assert [a.capability for a in ALL] == sorted(a.capability for a in ALL)
    assert [a.name for a in ALL] == list(ARCHITECTURES)


@pytest.mark.parametrize("architecture", KNOWN_TO_HEADER, ids=lambda a: a.name)
def test_blocks_and_registers_are_those_of_nvidias_header(header, architecture: Architecture) -> None:
    limit = architecture.registers_per_thread
    without_registers, at_most, too_many = header.ask(
        architecture, [f"32 {registers} 0 0 0 -1 0 1024" for registers in (0, limit, limit + 2)]
    )
    assert without_registers[2] == architecture.blocks
    assert at_most[3] > 0
    # The header's limit is 256 registers from 7.0 on. It does not have sm_30's limit of 63 registers.
    assert too_many[3] == 0 or architecture.name == "sm_30"
    # One byte of shared memory takes a whole unit of allocation and the reserved bytes.
    (one_byte,) = header.ask(architecture, ["32 0 1 0 0 -1 0 1024"])
    assert one_byte[6] == architecture.reserved_shared_bytes + architecture.shared_granularity_bytes
    # A block may have as many bytes of shared memory as the table allows, and not one more.
    fits, too_large = header.ask(
        architecture, [f"32 0 0 {architecture.shared_bytes_per_block + more} 0 -1 0 1024" for more in (0, 1)]
    )
    assert (fits[4] >= 1, too_large[4]) == (True, 0)


def test_the_table_contains_every_architecture_that_nvcc_lists(needs_nvcc: None) -> None:
    nvcc = find_nvcc()
    assert nvcc is not None
    listed = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r"\bsm_\d+\b", listed))
    assert found
    assert found - set(ARCHITECTURES) <= UNPUBLISHED
