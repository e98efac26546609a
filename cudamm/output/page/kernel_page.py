"""The page about a user's kernel without a GPU: its source, with mistakes and accesses below the lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cudamm.analysis.check import CheckResult
from cudamm.analysis.kernel_figures import KernelFigures
from cudamm.analysis.mistakes import Mistake
from cudamm.analysis.trace import TraceResult, pattern
from cudamm.compile.nvcc_compiler import remark_on_estimate
from cudamm.devices.observation import Access
from cudamm.kernels.variant import Variant
from cudamm.output.number_format import count, percent
from cudamm.output.page.page import ENVIRONMENT, rendered
from cudamm.output.trace_table import notes

SECTIONS = {
    "findings": "Findings",
    "source": "Source",
    "accesses": "Accesses to memory",
    "occupancy": "Occupancy",
    "environment": ENVIRONMENT,
}


@dataclass(frozen=True)
class AccessRow:
    """A load or store, in the words of the page."""

    access: Access

    @property
    def name(self) -> str:
        """Return `A load`; `? load` if several arrays or an unknown one are accessed."""
        return f"{self.access.array or '?'} {self.access.op}"

    @property
    def unit(self) -> str:
        """Return what is counted in the access's memory."""
        return "sectors" if self.access.space == "global" else "wavefronts"

    @property
    def counted(self) -> int:
        """Return the number of sectors or wavefronts."""
        return self.access.sectors if self.access.space == "global" else self.access.wavefronts

    @property
    def ideal(self) -> int:
        """Return the least number of sectors or wavefronts."""
        is_global = self.access.space == "global"
        return self.access.ideal_sectors if is_global else self.access.ideal_wavefronts

    @property
    def per_request(self) -> str:
        """Return the sectors or wavefronts of a request, on average."""
        return count(self.counted / self.access.requests)

    @property
    def ideal_per_request(self) -> str:
        """Return the least sectors or wavefronts of a request, on average."""
        return count(self.ideal / self.access.requests)

    @property
    def efficiency(self) -> str:
        """Return the ideal count over the actual count."""
        return percent(self.ideal / self.counted) if self.counted else ""

    @property
    def pattern(self) -> str:
        """Return the pattern of the warp's threads, in words."""
        return pattern(self.access)


@dataclass(frozen=True)
class SourceLine:
    """A line of the kernel's file, with what was found about it."""

    number: int
    text: str
    mistakes: tuple[Mistake, ...]
    accesses: tuple[AccessRow, ...]


def kernel_page(
    variant: Variant,
    checked: CheckResult,
    figures: KernelFigures,
    document: Mapping[str, Any],
) -> str:
    """Return the whole page, as text in UTF-8.

    Args:
        checked: the mistakes that `check` found.
        figures: the accesses that `trace` counted, and the occupancy.
        document: device, environment and options, as in a JSON document.
    """
    method, traced = variant.method, figures.traced
    is_traced = traced is not None and traced.status == "ok"
    why_not_traced = figures.why_not_traced if traced is None else traced.reason
    return rendered(
        f"{method.entry} in {method.path.name}, without a GPU",
        SECTIONS,
        method.path.name,
        variant=variant,
        checked=checked,
        elsewhere=[mistake for mistake in checked.mistakes if not _is_in_file(mistake, variant)],
        lines=source_lines(variant, checked, traced if is_traced else None),
        traced=traced if is_traced else None,
        rows=[AccessRow(access) for access in traced.accesses] if traced is not None else [],
        notes=notes([traced]) if traced is not None and is_traced else [],
        why_not_traced=f"The accesses are not known: {why_not_traced}." if not is_traced else "",
        occupancy=[figures.occupancy] if figures.occupancy is not None else [],
        occupancy_remark=_of_occupancy(figures),
        document=document,
    )


def _of_occupancy(figures: KernelFigures) -> str:
    """Return why the occupancy is not known, or that its registers are an estimate; empty for neither."""
    if figures.occupancy is None:
        return f"The occupancy is not known: {figures.why_no_occupancy}."
    remark = remark_on_estimate(figures.occupancy.arch)
    return f"The {remark}." if remark else ""


def source_lines(variant: Variant, checked: CheckResult, traced: TraceResult | None) -> list[SourceLine]:
    """Return the lines of the kernel's file, with the mistakes and the accesses of each line."""
    found = []
    # Compilers count line feeds only, unlike `splitlines`.
    for number, text in enumerate(variant.method.file_text.removesuffix("\n").split("\n"), start=1):
        mistakes = (m for m in checked.mistakes if m.line == number and _is_in_file(m, variant))
        accesses = traced.accesses if traced is not None else ()
        # A line of an included file may have the same number, but not the same text.
        here = (AccessRow(a) for a in accesses if a.line == number and a.text.split() == text.split())
        found.append(SourceLine(number, text, tuple(mistakes), tuple(here)))
    return found


def _is_in_file(mistake: Mistake, variant: Variant) -> bool:
    return mistake.line > 0 and mistake.file == variant.method.path.name
