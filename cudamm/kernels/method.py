"""A method: one way to compute a matrix product, as its file declares it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from cudamm.kernels.expression import Expression

Value = int | str
"""Of a parameter. Text (a type, a macro) can only be substituted; whole numbers can be computed with too."""

Language = Literal["cuda", "c++", "python"]
"""`cuda` runs on a GPU or on the CPU device; the other two run natively on the host, but for a `library`."""

Execution = Literal["gpu", "native", "emulated"]
"""Where a variant ran: on a GPU, natively on the host, or on the CPU device, whose times are not a GPU's."""


@dataclass(frozen=True)
class ElementType:
    """A type a matrix's elements may have.

    Attributes:
        name: NumPy's name, used in options and JSON.
        c_name: the C type that `element` stands for.
        size_bytes: of one element.
    """

    name: str
    c_name: str
    size_bytes: int


ELEMENT_TYPES = {
    t.name: t
    for t in (
        ElementType("float32", "float", 4),
        ElementType("float64", "double", 8),
        ElementType("int32", "int", 4),
    )
}


@dataclass(frozen=True)
class Parameter:
    """A name that is substituted when a method is compiled, such as BLOCK_SIZE.

    Attributes:
        default: the value taken where none is asked for.
        values: those worth sweeping, the default among them.
    """

    name: str
    default: Value
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Method:
    """One way to compute C = A B, with A of shape M x K, B of K x N, C of M x N, all row-major.

    Attributes:
        name: as users say it.
        path: of the file that declares it.
        source: the file's text.
        summary: what it is, in one line.
        sources: the documents it comes from, those of courses first.
        aliases: other names it answers to.
        parameters: in the order declared.
        entry: name of the function to call.
        arguments: what it is called with: A, B and C, numbers, or arithmetic over M, N, K and the parameters.
        threads: extents of a block in x, y and z; empty for a host function.
        grid: blocks in x, y and z; empty for a host function.
        shared_bytes: dynamic shared memory a block.
        traffic: bytes that all threads of a launch load from global memory, and bytes that they store there,
            as the source asks for them; None where the file does not say.
        constants: symbols in constant memory and what the host copies there.
        requires: conditions; `M % BLOCK_SIZE == 0` is met by padding with zeros, any other has to hold.
        needs: the oldest architecture that has what it is written with, such as `sm_90`; or `sm_90a`, where
            later ones do not have it either; empty for any.
        element_types: those it can be compiled for.
        sums_in_k_order: whether each element is one running sum over k = 0, 1, …, so that without fused
            multiply-add its bits are determined.
        builtin: whether it belongs to cudamm, not to a user.
        package: the Python package through which its file calls a library on the GPU, which then chooses and
            launches kernels of its own; empty for every other method.
        ceiling: how fast the units that multiply are, over the float32 units with their fused multiply-adds:
            tensor cores can be faster. No kernel is believed a higher rate than that allows.
        ptxas: options for NVIDIA's assembler, which turns PTX into machine code and puts it in order.
    """

    name: str
    path: Path
    source: str
    language: Language
    summary: str
    sources: str
    aliases: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    entry: str
    arguments: tuple[str, ...]
    threads: tuple[Expression, ...]
    grid: tuple[Expression, ...]
    shared_bytes: Expression
    traffic: tuple[Expression, Expression] | None
    constants: tuple[tuple[str, Expression], ...]
    requires: tuple[Expression, ...]
    needs: str
    element_types: tuple[str, ...]
    sums_in_k_order: bool
    builtin: bool
    package: str = ""
    ceiling: Fraction = Fraction(1)
    ptxas: tuple[str, ...] = ()

    def lacks_on(self, arch: str) -> str:
        """Why it is not for an architecture such as `sm_86`, in words; empty where that has what it needs."""
        if not self.needs:
            return ""
        needed, there = int(self.needs[3:].rstrip("a")), int(arch[3:].rstrip("af"))
        if self.needs.endswith("a"):
            return "" if there == needed else f"{self.name} needs sm_{needed}, and no other ({self.needs})"
        return "" if there >= needed else f"{self.name} needs {self.needs} or later"

    def target(self, arch: str) -> str:
        """What it is compiled for to run on an architecture that lacks nothing: that, or its own `sm_90a`.

        Code for `sm_90a` may use instructions that later architectures lack, and runs on no other:
        CUDA C++ Programming Guide, feature-specific compilation targets.
        """
        return self.needs if self.needs.endswith("a") else arch

    @property
    def runs_on_host(self) -> bool:
        """Whether it runs natively on the host, whatever the device."""
        return self.language != "cuda" and not self.package

    @property
    def is_kernel(self) -> bool:
        """Whether it is CUDA code that cudamm compiles and launches: on a GPU or on the CPU device."""
        return self.language == "cuda"
