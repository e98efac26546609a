"""Named GPUs: every usual spelling is understood, and peak rates are those that NVIDIA publishes."""

from __future__ import annotations

import pytest

from cudamm.benchmark.roofline import named
from cudamm.errors import UsageError
from cudamm.kernels.architecture import ARCHITECTURES, find_architecture
from cudamm.kernels.named_gpus import NAMED_GPUS, NamedGpu, named_gpu

PUBLISHED_TFLOPS = {
    "p100": (10.6, 5.3), "gtx1080": (8.9, None), "gtx1080ti": (11.3, None), "v100": (15.7, 7.8),
    "v100-pcie": (14.1, 7.1), "t4": (8.1, None), "rtx2060": (6.5, None), "rtx2080": (10.1, None),
    "rtx2080ti": (13.4, None), "rtx4060": (15.1, None), "a100": (19.5, 9.7),
    "a100-80gb": (19.5, 9.7), "a100-80gb-pcie": (19.5, 9.7), "a30": (10.3, 5.2), "a10": (31.2, None),
    "a40": (37.4, None), "a6000": (38.7, None), "rtx3060": (12.8, None), "rtx3070": (20.3, None),
    "rtx3080": (29.8, None), "rtx3090": (35.6, None), "l4": (30.3, None), "l40": (90.5, None),
    "l40s": (91.6, None), "rtx4070": (29.1, None), "rtx4080": (48.7, None), "rtx4090": (82.6, None),
    "h100": (66.9, 33.5), "h100-pcie": (51.2, 25.6), "h200": (66.9, 33.5), "rtx5080": (56.3, None),
    "rtx5090": (104.8, None),
}  # fmt: skip
"""Peak rates of float32 and float64, as NVIDIA's documents round them. Those of GeForce list no float64."""


_A100, _H100 = "A100 whitepaper, Table 4", "H100 whitepaper, Table 3"
_GA102, _ADA = "Ampere GA102 whitepaper", "Ada whitepaper, Appendix A"

PUBLISHED_TENSOR_TFLOPS: dict[str, tuple[float, str]] = {
    "v100": (125, _A100),
    "v100-pcie": (112, "V100 data sheet"),
    "t4": (65, "T4 data sheet"),
    "rtx2080ti": (53.8, "Turing whitepaper: the reference card"),
    "a100": (312, _A100),
    "a100-80gb": (312, "A100 data sheet"),
    "a100-80gb-pcie": (312, "A100 data sheet"),
    "a30": (165, "A30 data sheet"),
    "a10": (125, "A10 data sheet"),
    "a40": (149.7, "A40 data sheet"),
    "a6000": (154.8, f"{_GA102}, Table 3"),
    "rtx3080": (59.5, _GA102),
    "rtx3090": (71, f"{_GA102}, Appendix A"),
    "l4": (242 / 2, "L4 product page: 242 with sparsity"),
    "l40": (181.05, "L40 data sheet"),
    # The same data sheet has 362.05 without sparsity, which is the rate at the lower clock of the L40.
    "l40s": (733 / 2, "L40S data sheet: 733 with sparsity"),
    "rtx4090": (165.2, _ADA),
    "h100": (989.4, _H100),
    "h100-pcie": (756, _H100),
    "h200": (1979 / 2, "H200 data sheet: 1979 with sparsity"),
    "rtx5080": (112.6, "RTX Blackwell whitepaper"),
    "rtx5090": (209.5, "RTX Blackwell whitepaper, Table 3"),
}
"""Peak rates of tensor cores in 16-bit types without sparsity, as NVIDIA rounds them, with the document.

Where a document distinguishes the type of the sums, the rate is that with sums in float32. Sparsity doubles a
rate: a number divided by 2 is one with sparsity. The rates of the A100 whitepaper were compared with the
document itself, the others with quotations of the documents.
"""

SAME_RATE_PER_SM = {"rtx3070": "rtx3090", "rtx4080": "rtx4090"}
"""GPUs without a published rate in the table above, each with one that has the same SMs."""

PUBLISHED_TENSOR_FLOAT64_TFLOPS: dict[str, tuple[float, str]] = {
    "a100": (19.5, _A100),
    "a100-80gb": (19.5, "A100 data sheet"),
    "a100-80gb-pcie": (19.5, "A100 data sheet"),
    "a30": (10.3, "A30 data sheet"),
    "h100": (67, "H100 data sheet"),
    "h100-pcie": (51, "H100 data sheet"),
    "h200": (67, "H200 data sheet"),
}


PUBLISHED_INT32_TOPS = {
    "v100": 15.7, "rtx2080ti": 13.4, "a100": 19.5, "rtx3080": 14.9, "rtx3090": 17.8, "rtx4090": 41.3,
    "h100": 33.5, "h100-pcie": 25.6,
}  # fmt: skip
"""Peak rates of int32 without tensor cores, from the whitepapers on these architectures."""


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
def test_peaks_of_whole_numbers_are_those_that_nvidia_publishes(gpu: NamedGpu) -> None:
    found = tflops(gpu).get(("FMA", "int32"))
    if gpu.name in PUBLISHED_INT32_TOPS:
        assert found == pytest.approx(PUBLISHED_INT32_TOPS[gpu.name], abs=0.06)
    # Before Volta a multiply-add takes several instructions; the table of rates ends at sm_90.
    assert (found is None) == (gpu.arch in ("sm_60", "sm_61", "sm_120"))


@pytest.mark.parametrize("gpu", NAMED_GPUS, ids=lambda gpu: gpu.name)
def test_peaks_of_tensor_cores_are_those_that_nvidia_publishes(gpu: NamedGpu) -> None:
    peaks = tflops(gpu)
    for element_type, published in (
        ("float16", PUBLISHED_TENSOR_TFLOPS),
        ("float64", PUBLISHED_TENSOR_FLOAT64_TFLOPS),
    ):
        if element_type == "float16" and gpu.name in SAME_RATE_PER_SM:
            continue
        found = peaks.get(("tensor cores", element_type))
        if gpu.name in published:
            rate, document = published[gpu.name]
            assert found == pytest.approx(rate, rel=0.01), document
        else:
            assert found is None
    # The tensor cores of sm_70 and sm_75 do not multiply bfloat16; newer ones multiply both types as fast.
    float16 = peaks.get(("tensor cores", "float16"))
    assert peaks.get(("tensor cores", "bfloat16")) == (None if gpu.arch in ("sm_70", "sm_75") else float16)


@pytest.mark.parametrize(("name", "same_sms"), SAME_RATE_PER_SM.items())
def test_gpus_with_the_same_sms_have_the_same_rate_of_tensor_cores_per_sm(name: str, same_sms: str) -> None:
    gpu, other = named_gpu(name), named_gpu(same_sms)
    assert gpu.arch == other.arch and same_sms in PUBLISHED_TENSOR_TFLOPS
    ratio = gpu.multiprocessors * gpu.clock_mhz / (other.multiprocessors * other.clock_mhz)
    expected = ratio * PUBLISHED_TENSOR_TFLOPS[same_sms][0]
    assert tflops(gpu)["tensor cores", "float16"] == pytest.approx(expected, rel=0.01)


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
