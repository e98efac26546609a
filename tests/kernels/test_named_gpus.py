"""Named GPUs: every usual spelling is understood, and peak rates are those that NVIDIA publishes."""

from __future__ import annotations

import pytest

from cudamm.benchmark.roofline import named
from cudamm.errors import UsageError
from cudamm.kernels.architecture import ARCHITECTURES, find_architecture
from cudamm.kernels.named_gpus import NAMED_GPUS, NamedGpu, named_gpu

PUBLISHED_TFLOPS = {
    "p100": (10.6, 5.3), "gtx1080": (8.9, None), "gtx1080ti": (11.3, None), "v100": (15.7, 7.8),
    "v100-pcie": (14.1, 7.1), "t4": (8.1, None), "rtx2080ti": (13.4, None), "a100": (19.5, 9.7),
    "a100-80gb": (19.5, 9.7), "a100-80gb-pcie": (19.5, 9.7), "a30": (10.3, 5.2), "a10": (31.2, None),
    "a40": (37.4, None), "a6000": (38.7, None), "rtx3060": (12.8, None), "rtx3070": (20.3, None),
    "rtx3080": (29.8, None), "rtx3090": (35.6, None), "l4": (30.3, None), "l40": (90.5, None),
    "l40s": (91.6, None), "rtx4070": (29.1, None), "rtx4080": (48.7, None), "rtx4090": (82.6, None),
    "h100": (66.9, 33.5), "h100-pcie": (51.2, 25.6), "h200": (66.9, 33.5), "rtx5080": (56.3, None),
    "rtx5090": (104.8, None),
}  # fmt: skip
"""Peak rates of float32 and float64, as NVIDIA's documents round them. Those of GeForce list no float64."""


PUBLISHED_TENSOR_TFLOPS = {
    "v100": 125, "v100-pcie": 112, "t4": 65, "rtx2080ti": 53.8, "a100": 312, "a100-80gb": 312,
    "a100-80gb-pcie": 312, "a30": 165, "a10": 125, "a40": 149.7, "a6000": 309.7 / 2, "rtx3070": 40.6,
    "rtx3080": 59.5, "rtx3090": 71, "l4": 121, "l40": 181.05, "l40s": 733 / 2, "rtx4080": 97.5,
    "rtx4090": 165.2, "h100": 1979 / 2, "h100-pcie": 1513 / 2, "h200": 1979 / 2, "rtx5080": 112.6,
    "rtx5090": 209.5,
}  # fmt: skip
"""Peak rates of tensor cores in float16, with sums in float32 and without sparsity, as NVIDIA rounds them.

Sparsity doubles a rate. A number divided by 2 is one with sparsity, which the data sheet lists alone.
"""

PUBLISHED_TENSOR_FLOAT64_TFLOPS = {
    "a100": 19.5, "a100-80gb": 19.5, "a100-80gb-pcie": 19.5, "a30": 10.3, "h100": 67, "h100-pcie": 51,
    "h200": 67,
}  # fmt: skip


def tflops(gpu: NamedGpu) -> dict[tuple[str, str], float]:
    return {(peak.unit, peak.element_type): peak.gflops / 1e3 for peak in named(gpu).peaks}


@pytest.mark.parametrize("gpu", NAMED_GPUS, ids=lambda gpu: gpu.name)
def test_peaks_are_those_that_nvidia_publishes(gpu: NamedGpu) -> None:
    (float32, float64), peaks = PUBLISHED_TFLOPS[gpu.name], tflops(gpu)
    assert peaks["FMA", "float32"] == pytest.approx(float32, abs=0.06)
    ratio = peaks["FMA", "float64"] / peaks["FMA", "float32"]
    if float64 is not None:
        assert peaks["FMA", "float64"] == pytest.approx(float64, abs=0.06)
    assert ratio == (1 / 2 if float64 else 1 / 64 if gpu.arch >= "sm_80" or gpu.arch == "sm_120" else 1 / 32)


@pytest.mark.parametrize("gpu", NAMED_GPUS, ids=lambda gpu: gpu.name)
def test_peaks_of_tensor_cores_are_those_that_nvidia_publishes(gpu: NamedGpu) -> None:
    peaks = tflops(gpu)
    for element_type, published in (
        ("float16", PUBLISHED_TENSOR_TFLOPS),
        ("float64", PUBLISHED_TENSOR_FLOAT64_TFLOPS),
    ):
        found = peaks.get(("tensor cores", element_type))
        assert found == (pytest.approx(published[gpu.name], rel=0.01) if gpu.name in published else None)
    has_bfloat16 = gpu.name in PUBLISHED_TENSOR_TFLOPS and gpu.arch not in ("sm_70", "sm_75")
    assert (("tensor cores", "bfloat16") in peaks) == has_bfloat16


def test_each_gpu_has_a_source_and_names_of_its_own() -> None:
    assert all(gpu.source and gpu.arch in ARCHITECTURES for gpu in NAMED_GPUS)
    for gpu in NAMED_GPUS:
        for text in (gpu.name, gpu.product, f"NVIDIA {gpu.product}", *gpu.also, gpu.name.upper()):
            assert named_gpu(text) is gpu, text


@pytest.mark.parametrize(
    ("text", "name"),
    [("RTX 3090", "rtx3090"), ("rtx-3090", "rtx3090"), ("3090", "rtx3090"), ("GeForce RTX 4090", "rtx4090"),
     (" A100 ", "a100"), ("NVIDIA A100-SXM4-80GB", "a100-80gb"), ("NVIDIA H100 80GB HBM3", "h100"),
     ("Tesla V100-SXM2-16GB", "v100"), ("T4", "t4"), ("1080 Ti", "gtx1080ti"), ("RTX A6000", "a6000")],
)  # fmt: skip
def test_case_spaces_hyphens_and_brands_do_not_matter(text: str, name: str) -> None:
    assert named_gpu(text).name == name


@pytest.mark.parametrize("text", ["rtx", "geforce", "", "309", "a1000000", "nvidia"])
def test_an_unknown_name_lists_the_known_ones(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        named_gpu(text)
    assert all(gpu.name in str(raised.value) for gpu in NAMED_GPUS)


def test_an_architecture_is_found_by_the_name_of_each_gpu() -> None:
    for gpu in NAMED_GPUS:
        found = find_architecture(gpu.name)
        assert (found.name, found.multiprocessors) == (gpu.arch, gpu.multiprocessors)
    assert str(find_architecture("rtx 3080")) == "sm_86 (GeForce RTX 3080 10GB, 68 SMs)"
