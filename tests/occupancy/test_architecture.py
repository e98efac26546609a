"""Architectures by their names, and their table against NVIDIA's header, guide and compiler."""

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
def test_spellings(text: str, name: str) -> None:
    assert find_architecture(text).name == name


@pytest.mark.parametrize("of", ALL, ids=lambda a: a.name)
def test_every_name_leads_back(of: Architecture) -> None:
    major, minor = of.capability
    for text in (of.name, f"{major}.{minor}", f"{major}{minor}", f"compute_{major}{minor}", of.name.upper()):
        assert find_architecture(text) is of or find_architecture(text) == of
    # A suffix is the compiler's affair: the limits are the same. There is `a` from 9.0 on, `f` from 10.0 on.
    for suffix, since in (("a", (9, 0)), ("f", (10, 0))):
        if of.capability >= since:
            suffixed = find_architecture(f"{of.name}{suffix}")
            assert suffixed.name == of.name + suffix and suffixed.capability == of.capability
            assert dataclasses.replace(suffixed, name=of.name) == of
        else:
            with pytest.raises(UsageError, match=f"nearest is {of.name};"):
                find_architecture(f"{of.name}{suffix}")


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
def test_a_name_that_is_none_leads_to_the_nearest(text: str, near: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        find_architecture(text)
    message = str(raised.value)
    hint, _, every = message.partition("choose one of ")
    assert words in hint and text in hint
    assert re.findall(r"sm_\d+", hint.replace(text, "")) == [near]
    assert every == ", ".join(ARCHITECTURES) + ", or all"


def test_only_what_nobody_publishes_is_called_unpublished() -> None:
    for text in ("sm_91", "hopper", "", "sm_", "-1", "9.0.0", "sm_90aa", "compute", "９.٠"):
        with pytest.raises(UsageError, match="unknown architecture") as raised:
            find_architecture(text)
        assert "publishes" not in str(raised.value)


def test_a_name_of_thousands_of_digits_is_unknown_too() -> None:
    """Python converts no text of more than 4300."""
    with pytest.raises(UsageError, match="unknown architecture"):
        find_architecture("8" * 5000)


@pytest.mark.parametrize("of", ALL, ids=lambda a: a.name)
def test_the_table_is_consistent(of: Architecture) -> None:
    assert of.threads % 32 == 0 and of.threads >= of.threads_per_block >= 512
    assert of.registers >= of.registers_per_block and of.registers % of.partitions == 0
    assert list(of.shared_configurations) == sorted(set(of.shared_configurations))
    assert of.shared_configurations[-1] == of.shared_bytes
    assert of.shared_bytes_per_block + of.reserved_shared_bytes <= of.shared_bytes
    assert of.shared_bytes % of.shared_granularity_bytes == 0
    # Blocks of one warp: as many as an SM may hold.
    assert of.blocks * 32 <= of.threads
    assert of.multiprocessors >= 1 and of.gpu
    assert str(of) == f"{of.name} ({of.gpu}, {of.multiprocessors} SMs)"


def test_the_guides_resident_warps() -> None:
    published = {capability: warps for warps, all_of in RESIDENT_WARPS.items() for capability in all_of}
    assert {".".join(map(str, a.capability)): a.warps for a in ALL} == published
    assert [a.capability for a in ALL] == sorted(a.capability for a in ALL)
    assert [a.name for a in ALL] == list(ARCHITECTURES)


@pytest.mark.parametrize("of", KNOWN_TO_HEADER, ids=lambda a: a.name)
def test_blocks_and_registers_are_nvidias(header, of: Architecture) -> None:
    most = of.registers_per_thread
    none, lots, too_many = header.ask(
        of, [f"32 {registers} 0 0 0 -1 0 1024" for registers in (0, most, most + 2)]
    )
    assert none[2] == of.blocks
    assert lots[3] > 0
    # The header counts to 256 from 7.0 on, and does not know that the first Kepler has no more than 63.
    assert too_many[3] == 0 or of.name == "sm_30"
    # One byte takes a whole portion, and what is reserved.
    (one,) = header.ask(of, ["32 0 1 0 0 -1 0 1024"])
    assert one[6] == of.reserved_shared_bytes + of.shared_granularity_bytes
    # The largest block may have all of the memory that the table gives it, and not a byte more.
    fits, not_any_more = header.ask(
        of, [f"32 0 0 {of.shared_bytes_per_block + more} 0 -1 0 1024" for more in (0, 1)]
    )
    assert (fits[4] >= 1, not_any_more[4]) == (True, 0)


def test_everything_that_nvcc_compiles_for_is_there(needs_nvcc: None) -> None:
    nvcc = find_nvcc()
    assert nvcc is not None
    listed = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r"\bsm_\d+\b", listed))
    assert found
    assert found - set(ARCHITECTURES) <= UNPUBLISHED
