"""What a kernel is compiled to, to be read: PTX, by nvcc, and SASS, which nvdisasm finds in a cubin.

PTX is the virtual machine's code, which ptxas compiles further; SASS is what the GPU executes. Sources:
NVIDIA's “Parallel Thread Execution ISA” (statements, labels, predicates) and “CUDA Binary Utilities” (what
nvdisasm prints). cuobjdump is not used: it runs nvdisasm itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cudamm.compile.compile_cache import (
    cached,
    contents,
    finished,
    run_compiler,
    temporary_folder,
)
from cudamm.compile.nvcc_compiler import Cubin, compile_for_gpu, nvcc, nvcc_command
from cudamm.compile.program import Program
from cudamm.compile.toolkit import find_nvdisasm, run_nvcc
from cudamm.errors import KernelError, NoDeviceError
from cudamm.kernels.header import without_comments

Kind = Literal["ptx", "sass"]


@dataclass(frozen=True)
class Line:
    """A line of a kernel's code.

    Attributes:
        text: without the address and without comments.
        opcode: of the instruction that begins on it, with all modifiers: `ld.global.f32`, `LDG.E`; empty for
            other lines.
        compared: what of it is compared: a register's kind and not its number, no label's number, not the
            kernel's own name, and not the operand cache's hint `.reuse`.
    """

    text: str
    opcode: str
    compared: str


@dataclass(frozen=True)
class Listing:
    """The code of a kernel.

    Attributes:
        kernel: the name that the kernel has in it.
        text: what the tool wrote: of PTX the whole file, of SASS the kernel's section.
        lines: of the kernel, and of the functions it calls.
    """

    kind: Kind
    arch: str
    kernel: str
    text: str
    lines: tuple[Line, ...]


def ptx(program: Program, arch: str) -> Listing:
    """The PTX of a program for an architecture such as `sm_90`; from the cache, where it was made before.

    Raises:
        KernelError: it does not compile.
        NoDeviceError: there is no nvcc, or it cannot compile for that architecture.
    """
    cubin = compile_for_gpu(program, arch)  # says what is wrong with the program, if anything is
    command = [*nvcc_command(program, arch), "--ptx"]

    def make(target: Path) -> None:
        with temporary_folder() as folder:
            source, made = folder / "kernel.cu", folder / "kernel.ptx"
            source.write_text(program.text, encoding="utf-8", errors="surrogateescape")
            run_compiler([*command, "-o", str(made), str(source)])
            target.write_bytes(made.read_bytes())

    # The cubin stands for what the program includes, and for what nvcc takes from the environment.
    path = cached([program.text, _digest(cubin), nvcc().version, *command], ".ptx", make)
    text = contents(path).decode(errors="replace")
    return Listing("ptx", arch, cubin.kernel, text, _ptx_lines(text, cubin.kernel))


def sass(program: Program, arch: str) -> Listing:
    """The machine code of a program for an architecture; from the cache, where it was made before.

    Raises:
        KernelError: it does not compile.
        NoDeviceError: there is no nvcc or no nvdisasm, or either does not know the architecture.
    """
    disassembler = nvdisasm()
    cubin = compile_for_gpu(program, arch)
    version = run_nvcc(disassembler, "--version")

    def make(target: Path) -> None:
        with temporary_folder() as folder:
            image = folder / "kernel.cubin"
            image.write_bytes(cubin.image)
            done = finished([str(disassembler), "--print-code", str(image)])
        if done.returncode != 0:
            said = " ".join(done.stderr.split())[:200] or f"status {done.returncode}"
            raise NoDeviceError(
                f"{disassembler} cannot read code for {arch} ({said}); a newer one: {_INSTALL}"
            )
        target.write_text(done.stdout, encoding="utf-8", errors="surrogateescape")

    path = cached([_digest(cubin), str(disassembler), version], ".sass", make)
    section = _section(contents(path).decode(errors="replace"), cubin.kernel)
    return Listing("sass", arch, cubin.kernel, section, _sass_lines(section))


LISTINGS: dict[Kind, Callable[[Program, str], Listing]] = {"ptx": ptx, "sass": sass}

_INSTALL = "pip install nvidia-cuda-nvdisasm"


def nvdisasm() -> Path:
    """NVIDIA's disassembler. Raises NoDeviceError, saying what to install, where there is none."""
    found = find_nvdisasm(nvcc().path)
    if found is None:
        raise NoDeviceError(
            f"nvdisasm, which reads machine code, was not found: {_INSTALL}, or install the CUDA toolkit "
            "(cuobjdump alone does not do, it runs nvdisasm); --ptx does without"
        )
    return found


def _digest(cubin: Cubin) -> str:
    return hashlib.sha256(cubin.image).hexdigest()


# A function's head up to what ends or begins it: `;` for a declaration, `{` for a body.
_FUNCTION = re.compile(r"^[^\n;{}]*\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)[^{;]*([{;])", re.MULTILINE)
_CALL = re.compile(r"\bcall(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?([\w$]+)")


def _ptx_lines(text: str, kernel: str) -> tuple[Line, ...]:
    """Of the kernel and the functions it calls, in the order of the file."""
    code = without_comments(text)
    bodies: dict[str, tuple[int, int]] = {}
    for head in _FUNCTION.finditer(code):
        if head[2] == "{":
            bodies[head[1]] = (head.start(), _closing_brace(code, head.end()))
    if kernel not in bodies:
        raise KernelError(f"nvcc's PTX has no kernel {kernel} (found: {', '.join(bodies) or 'none'})")
    wanted = [kernel]
    for name in wanted:
        start, end = bodies[name]
        called = (call[1] for call in _CALL.finditer(code, start, end))
        wanted += [name for name in dict.fromkeys(called) if name in bodies and name not in wanted]
    lines: list[Line] = []
    for start, end in sorted(bodies[name] for name in wanted):
        is_open = True  # the head, and a statement that goes on, hold no other opcode
        for line in code[start:end].splitlines():
            indent = "    " if line[:1].isspace() else ""
            for statement in re.findall(r"[^;]+;?", line):  # assembly in a source may have several on a line
                words = " ".join(statement.split())
                if not words:
                    continue
                opcode = None if is_open else _PTX_OPCODE.match(words)
                compared = _compared_ptx(words, kernel)
                lines.append(Line(indent + words, opcode[1] if opcode else "", compared))
                is_open = words[-1] not in ";{}:"
    return tuple(lines)


def _closing_brace(code: str, at: int) -> int:
    """The position behind the brace that closes the one opened just before `at`."""
    depth = 1
    while depth and at < len(code):
        depth += (code[at] == "{") - (code[at] == "}")
        at += 1
    return at


def _compared_ptx(words: str, kernel: str) -> str:
    words = re.sub(rf"{re.escape(kernel)}\b|{re.escape(kernel)}(?=_param_)", "kernel", words)
    words = re.sub(r"\$L\w+", "$L", words)
    return re.sub(r"%([a-z]+)\d+\b", r"%\1", words)


# What may stand before an opcode on its line: the brace of a scope, a label, a predicate.
_PTX_OPCODE = re.compile(r"[{}\s]*(?:[\w$%]+\s*:(?!:)\s*)?(?:@!?%?\w+\s+)?([a-z][\w.:]*)(?![\w.:]|\s*:)")


def _section(text: str, kernel: str) -> str:
    """The kernel's part of what nvdisasm prints of all code in a cubin."""
    parts = re.split(r"^(?=//-{5,} )", text, flags=re.MULTILINE)
    for part in parts:
        if re.match(rf"//-+ \.text\.{re.escape(kernel)}\s", part):
            return part.rstrip() + "\n"
    raise KernelError(f"nvdisasm shows no code of {kernel}")


_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]+\*/\s*\{?\s*(.*?)\s*;?\s*\}?\s*(?:/\*.*)?$")
_SASS_OPCODE = re.compile(r"(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")


def _sass_lines(section: str) -> tuple[Line, ...]:
    """Labels and instructions; without the NOPs that fill up the section at its end."""
    lines: list[Line] = []
    for text in section.splitlines():
        instruction = _INSTRUCTION.match(text)
        if instruction and instruction[1]:
            opcode = _SASS_OPCODE.match(instruction[1])
            shown = "    " + instruction[1]
            lines.append(Line(shown, opcode[1] if opcode else "", _compared_sass(instruction[1])))
        elif re.match(r"\.L\w+:", text):
            lines.append(Line(text.strip(), "", ".L:"))
    while lines and lines[-1].opcode in ("", "NOP"):
        lines.pop()
    return tuple(lines)


def _compared_sass(instruction: str) -> str:
    instruction = re.sub(r"\.L\w+", ".L", instruction.replace(".reuse", ""))
    return " ".join(re.sub(r"\b(UR|UP|R|P|B|SB)\d+\b", r"\1", instruction).split())
