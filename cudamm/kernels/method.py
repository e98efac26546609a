"""A method: one way to compute a matrix product, as its file declares it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cudamm.source.expression import Expression

if TYPE_CHECKING:
    import numpy as np

Value = int | str
"""A parameter's value. Expressions can use whole numbers; text (a type, a macro) can only be substituted."""

MatrixName = Literal["A", "B", "C"]

SIZE_NAMES = ("M", "N", "K")
"""Values of parameters that are the sizes of the problem."""

Language = Literal["cuda", "c++", "python"]
"""`cuda` runs on a GPU or on the CPU device; `c++` and `python` run on the host, except library methods."""

Execution = Literal["gpu", "native", "emulated"]
"""The place of a run: a GPU, the host itself, or the CPU device, whose times are not those of a GPU."""


NOT_TRIED = "not tried: name"
"""What a remark on a launch says of the instances of a template that are left out."""


class LaunchRemark(str):
    """A remark that says how a user's kernel is launched: a terminal shows it once for each launch."""

    __slots__ = ()


@dataclass(frozen=True)
class ElementType:
    """A type of matrix elements.

    Attributes:
        name: the name in options and JSON, which is NumPy's if NumPy has the type; `float16_to_float32` names
            the type of C too, because float16 is the name of the type in which C is float16.
        c_name: the C type that replaces `element` in a source.
        size_bytes: size of one element.
        significant_bits: number of bits of the fraction, with the leading one, that a kernel has to multiply;
            0 for whole numbers.
        accumulator: name of the type that replaces `accumulator` in a source, in which sums are kept.
        header: CUDA's header that defines the C type; empty for types of the language.
        other_c_names: other names of the C type in CUDA's headers.
        in_memory: name of the type that the matrices have in memory, if a kernel may round or cut their
            elements to `significant_bits` before it multiplies them, as for tf32; else empty.
        result: name of the type of C, which replaces `result` in a source; empty if it is that of A and B.
    """

    name: str
    c_name: str
    size_bytes: int
    significant_bits: int
    accumulator: str
    header: str = ""
    other_c_names: tuple[str, ...] = ()
    in_memory: str = ""
    result: str = ""

    @property
    def is_integer(self) -> bool:
        """Return whether the elements are whole numbers, whose products are exact."""
        return not self.significant_bits

    @property
    def is_narrow(self) -> bool:
        """Return whether sums are kept in a wider type than that of the factors, as on tensor cores."""
        return self.accumulator != self.name

    @property
    def rounds_inputs(self) -> bool:
        """Return whether a kernel may round the elements before it multiplies them."""
        return bool(self.in_memory)

    @property
    def rounds_sums(self) -> bool:
        """Return whether sums are kept in a wider type than C has, and are rounded once."""
        return self.of_sums != self.of_results

    @property
    def keeps_sums(self) -> bool:
        """Return whether C has the wider type in which sums of narrow factors are kept."""
        return self.is_narrow and not (self.rounds_inputs or self.rounds_sums)

    @property
    def of_products(self) -> ElementType:
        """Return the type whose name stands for the rate of the units that multiply the elements."""
        return self.of_inputs if self.keeps_sums else self

    @property
    def of_memory(self) -> ElementType:
        """Return the type that the matrices have in memory."""
        return ELEMENT_TYPES[self.in_memory or self.name]

    @property
    def of_inputs(self) -> ElementType:
        """Return the type that is named after the elements of A and B: float16 for float16_to_float32."""
        return next(element for element in ELEMENT_TYPES.values() if element.c_name == self.c_name)

    @property
    def of_results(self) -> ElementType:
        """Return the type of C."""
        return ELEMENT_TYPES[self.result or self.in_memory or self.name]

    @property
    def of_sums(self) -> ElementType:
        """Return the type in which sums are kept."""
        return ELEMENT_TYPES[self.accumulator]

    @property
    def bytes_of(self) -> dict[MatrixName, int]:
        """Return the size of an element of each matrix."""
        return {"A": self.size_bytes, "B": self.size_bytes, "C": self.of_results.size_bytes}

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return NumPy's type of the elements."""
        import numpy  # most commands read methods and make no matrices

        name = self.of_inputs.name
        if name in ("bfloat16", "float8_e4m3"):
            import ml_dtypes  # which adds them to NumPy's types

            # CUDA's type has no infinities; the package calls it float8_e4m3fn, and another type float8_e4m3.
            added = ml_dtypes.bfloat16 if name == "bfloat16" else ml_dtypes.float8_e4m3fn
            of_package: np.dtype[Any] = numpy.dtype(added)
            return of_package
        return numpy.dtype(name)


ELEMENT_TYPES = {
    t.name: t
    for t in (
        ElementType("float32", "float", 4, 24, "float32"),
        ElementType("float64", "double", 8, 53, "float64"),
        ElementType("int32", "int", 4, 0, "int32"),
        ElementType("float16", "__half", 2, 11, "float32", "cuda_fp16.h", ("half",)),
        ElementType("bfloat16", "__nv_bfloat16", 2, 8, "float32", "cuda_bf16.h", ("nv_bfloat16",)),
        ElementType("tf32", "float", 4, 11, "float32", in_memory="float32"),
        ElementType("float8_e4m3", "__nv_fp8_e4m3", 1, 4, "float32", "cuda_fp8.h", result="bfloat16"),
        ElementType(
            "float16_to_float32", "__half", 2, 11, "float32", "cuda_fp16.h", ("half",), result="float32"
        ),
        ElementType(
            "bfloat16_to_float32", "__nv_bfloat16", 2, 8, "float32", "cuda_bf16.h", ("nv_bfloat16",),
            result="float32",
        ),
        ElementType(
            "float8_e4m3_to_float32", "__nv_fp8_e4m3", 1, 4, "float32", "cuda_fp8.h", result="float32"
        ),
        ElementType("int8", "signed char", 1, 0, "int32", other_c_names=("char", "int8_t"), result="int32"),
    )
}  # fmt: skip

FULL_WIDTH = tuple(name for name, element in ELEMENT_TYPES.items() if not element.is_narrow)
"""Names of the types whose sums are kept in the type itself."""

EXACT_PRODUCTS = tuple(name for name, element in ELEMENT_TYPES.items() if not element.rounds_inputs)
"""Names of the types whose elements are multiplied as they are."""

ONE_TYPE = tuple(name for name in EXACT_PRODUCTS if not ELEMENT_TYPES[name].result)
"""Names of the types of EXACT_PRODUCTS in which C has the type of A and B."""


@dataclass(frozen=True)
class Parameter:
    """A name that is replaced by a value when a method is compiled, such as BLOCK_SIZE.

    Attributes:
        default: the value if the user gives none.
        values: the values that a sweep tries, including the default.
        is_of_host: the launch alone depends on it, and the kernel may have another variable of that name.
    """

    name: str
    default: Value
    values: tuple[Value, ...]
    is_of_host: bool = False


@dataclass(frozen=True)
class Method:
    """One way to compute C = A B, with A of shape M x K, B of K x N, C of M x N, row-major by default.

    Attributes:
        name: the name that users type.
        path: the file that declares the method.
        source: the file's text.
        code: what is compiled of it: the text, or the text without host code and with its own headers.
        included: the texts of the files that the file includes, as far as a scan of the text finds them.
        summary: description in one line.
        sources: the documents that the method comes from, courses first.
        aliases: other names of the method.
        parameters: parameters in the order of the header.
        entry: the function to call, which may be in a namespace and have template arguments.
        arguments: the function's arguments: A, B, C, numbers, or arithmetic over M, N, K and the parameters.
        threads: extents of a block in x, y and z; empty for a host function.
        grid: blocks in x, y and z; empty for a host function.
        shared_bytes: dynamic shared memory per block.
        traffic: bytes that all threads of a launch load from global memory, and bytes that they store there,
            counted from the source; None if the header has no `traffic`.
        constants: symbols in constant memory, and the values that the host copies there.
        requires: conditions; `M % BLOCK_SIZE == 0` is met by padding with zeros, any other has to hold.
        needs: the oldest architecture that can run the method, such as `sm_90`; `sm_90a` if no other
            architecture can; empty for any.
        element_types: the element types that the method can be compiled for.
        sums_in_k_order: True if each element is one running sum over k = 0, 1, …, so that without fused
            multiply-add its bits are determined.
        builtin: True if the method comes with cudamm, False for a user's file.
        package: the Python package through which a library method calls its library, which chooses and
            launches its own kernels; empty for every other method.
        ceiling: rate of the units that the method multiplies on, relative to that of fused multiply-adds in
            the type of the sums; above 1 for tensor cores. A rate above this ceiling counts as impossible.
        ptxas: options for ptxas, NVIDIA's assembler, which turns PTX into machine code and orders it.
        numbers: constants of a user's file that its expressions use, each as an expression.
        has_options: whether options such as --threads say how the file is launched.
        remarks: what cudamm had to assume about a user's file, in sentences.
        program_size: M, N and K in the host code of a user's file; None if they are not known, or if the
            program's user chooses them.
        further_sizes: M, N and K of the program's other calls of the function that launches the kernel.
        size_names: pairs of M, N, K or a tile of the kernel and its name in the host code of a user's file.
        program_scale: alpha and beta in the host code of a user's file; None if they are not known.
        launched_at: the line of the host code that launches the kernel, with its file, which is empty for the
            method's own; the line of `type_conflict`, if it is another; line 0 if no launch was read.
        grid_at: the line of the grid's value, in the same way; line 0 if it has no line of its own.
        block_at: that of the block's value.
        arguments_at: those of the values of the kernel's arguments, in order; empty if the user gives them.
        type_conflict: what the program certainly passes in a way that the kernel does not take, such as
            elements of another type, a C that is not zero, or A and B in the wrong order; empty for none.
        wrong_dimension: which size the program takes from the wrong dimension of a tensor, with the cure; the
            launch is that with the right one. Empty for none.
        wrong_dimension_of: letters of the tensors; the mistake does no harm where these are square.
        wrong_dimension_at: its file, as in `launched_at`, and its line.
        copies_back_only: True if the program has PyCUDA copy C from the GPU only, with `Out`.
        keeps_shared_limit: True if the program launches the kernel without raising the limit of 48 KiB for
            dynamic shared memory.
        left_out: parts of a user's program that the launch lacks, such as other products, each as a sentence.
        named_arguments: places of the arguments that the program names as the kernel does.
        grid_of_gpu: the grid over MULTIPROCESSORS, if the program computes it from the number of the GPU's
            multiprocessors, for which `grid` has a number; else empty.
        found_fields: fields of the launch that neither the header nor options give, and their values.
        include_folders: folders in which the user's headers are searched for, beside the usual ones.
        column_major: the matrices that the method reads or writes column by column, in the order A, B, C.
        adds_to_zeros: True if the kernel adds to C, which has to hold zeros before each launch.
        dependent_launch: True if a launch may start before the previous kernel is complete, for which the
            kernel itself waits (CUDA C++ Programming Guide, programmatic dependent launch).
    """

    name: str
    path: Path
    source: str
    code: str
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
    included: tuple[str, ...] = ()
    numbers: tuple[tuple[str, Expression], ...] = ()
    include_folders: tuple[Path, ...] = ()
    column_major: tuple[MatrixName, ...] = ()
    adds_to_zeros: bool = False
    dependent_launch: bool = False
    remarks: tuple[str, ...] = ()
    program_size: tuple[int, int, int] | None = None
    further_sizes: tuple[tuple[int, int, int], ...] = ()
    size_names: tuple[tuple[str, str], ...] = ()
    program_scale: tuple[float, float] | None = None
    launched_at: tuple[str, int] = ("", 0)
    grid_at: tuple[str, int] = ("", 0)
    block_at: tuple[str, int] = ("", 0)
    arguments_at: tuple[tuple[str, int], ...] = ()
    type_conflict: str = ""
    wrong_dimension: str = ""
    wrong_dimension_of: str = ""
    wrong_dimension_at: tuple[str, int] = ("", 0)
    copies_back_only: bool = False
    keeps_shared_limit: bool = False
    left_out: tuple[str, ...] = ()
    named_arguments: frozenset[int] = frozenset()
    grid_of_gpu: tuple[Expression, ...] = ()
    found_fields: tuple[tuple[str, str], ...] = ()
    has_options: bool = False

    @property
    def in_commands(self) -> str:
        """What a command line names that is to be run next: the file, and that it needs the same options."""
        return f"{self.path.name} with the same options" if self.has_options else self.path.name

    def shown_at(self, mistake: str) -> tuple[str, int]:
        """Return the place of a mistake of the launch: the value of its grid or of its block, or itself."""
        is_of_grid, is_of_block = "the grid" in mistake, "the block" in mistake
        own = self.grid_at if is_of_grid else self.block_at
        return own if is_of_grid != is_of_block and own[1] else self.launched_at

    def launch_place_of(self, mistake: str) -> str:
        """Return the same in brackets, as in ` (mm.cu:33)`; empty if it is not known."""
        return self._in_brackets(self.shown_at(mistake))

    @property
    def wrong_dimension_place(self) -> str:
        """Return the place of `wrong_dimension` in the same way."""
        return self._in_brackets(self.wrong_dimension_at)

    def _in_brackets(self, place: tuple[str, int]) -> str:
        file, line = place
        return f" ({file or self.path.name}:{line})" if line else ""

    @property
    def file_text(self) -> str:
        """Return the text of the file; of a Python program, `source` has the C++ alone, line for line."""
        is_python_program = self.path.suffix == ".py" and self.language == "cuda" and self.path.is_file()
        return self.path.read_text("utf-8", errors="replace") if is_python_program else self.source

    @property
    def program_sizes(self) -> tuple[tuple[int, int, int], ...]:
        """Return M, N and K of all calls of the program; nothing if they are not known."""
        return () if self.program_size is None else (self.program_size, *self.further_sizes)

    def with_own_sizes(self, text: str) -> str:
        """Return a text with the host code's names of M, N, K and tiles for the kernel's."""
        names = dict(self.size_names)
        return re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda size: names.get(size[0], size[0]), text)

    def in_host_code(self, text: str) -> str:
        """Return a text with `(n + 15) / 16` for `ceil(n / 16)`, if the host code is in C++."""
        if self.path.suffix == ".py":
            return text
        return re.sub(r"\bceil\(([\w* .]+) / (\w+)\)", lambda q: self.rounded_up(q[1], q[2]), text)

    def rounded_up(self, size: str, tile: str) -> str:
        """Return a quotient that is rounded up, as the host code writes it; `ceil(n / 16)` without one."""
        if "grid" not in dict(self.found_fields):
            return f"ceil({size} / {tile})"
        less = str(int(tile) - 1) if tile.isdigit() else f"{tile} - 1"
        return f"({size} + {less}) {'//' if self.path.suffix == '.py' else '/'} {tile}"

    def unsupported_reason(self, arch: str) -> str:
        """Return why the method cannot run on an architecture such as `sm_86`; empty if it can."""
        if not self.needs:
            return ""
        needed, present = int(self.needs[3:].rstrip("a")), int(arch[3:].rstrip("af"))
        if self.needs.endswith("a"):
            return "" if present == needed else f"{self.name} runs on sm_{needed} only (needs: {self.needs})"
        return "" if present >= needed else f"{self.name} needs {self.needs} or later"

    def target(self, arch: str) -> str:
        """Return the compiler's target for an architecture that can run the method: itself, or `sm_90a`.

        Code for `sm_90a` may use instructions that later architectures lack, so it runs on sm_90 only:
        CUDA C++ Programming Guide, feature-specific compilation targets.
        """
        return self.needs if self.needs.endswith("a") else arch

    @property
    def may_use_tensor_cores(self) -> bool:
        """Return whether the method multiplies on tensor cores, or a library may do so for it."""
        return self.ceiling > 1 or bool(self.package)

    @property
    def runs_on_host(self) -> bool:
        """Return whether the method runs natively on the host, whatever the device is."""
        return self.language != "cuda" and not self.package

    @property
    def is_kernel(self) -> bool:
        """Return whether the method is CUDA code, launched on a GPU or executed by the CPU device."""
        return self.language == "cuda"
