"""Readable listings of a compiled kernel: PTX from nvcc, and SASS, which nvdisasm extracts from a cubin.

PTX is code for a virtual machine, which ptxas compiles further; SASS is the code that the GPU executes.
Sources: NVIDIA's “Parallel Thread Execution ISA” (statements, labels, predicates) and “CUDA Binary Utilities”
(the output of nvdisasm). cuobjdump is not used: it runs nvdisasm itself.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cudamm.compile.compile_cache import cached
from cudamm.compile.compiler_process import run_to_end, temporary_folder
from cudamm.compile.nvcc_compiler import Cubin, compile_for_gpu, made_by_nvcc, made_from, nvcc, nvcc_command
from cudamm.compile.program import Program
from cudamm.compile.toolkit import find_nvdisasm, run_nvcc
from cudamm.errors import KernelError, NoDeviceError
from cudamm.source.c_text import without_comments

Kind = Literal["ptx", "sass"]


@dataclass(frozen=True)
class Line:
    """A line of a kernel's code.

    Attributes:
        text: the line without its address and without comments.
        opcode: the opcode of the instruction that begins on this line, with all modifiers: `ld.global.f32`,
            `LDG.E`; empty for other lines.
        compared: the text that is compared with another listing. It contains a register's kind but not its
            number, no label's number, not the kernel's own name, and no hint `.reuse` for the operand cache.
    """

    text: str
    opcode: str
    compared: str


@dataclass(frozen=True)
class Listing:
    """The code of a kernel.

    Attributes:
        kernel: the kernel's name in the listing.
        text: the output of the tool: the whole file for PTX, the kernel's section for SASS.
        lines: the lines of the kernel and of the functions that it calls.
    """

    kind: Kind
    arch: str
    kernel: str
    text: str
    lines: tuple[Line, ...]


def ptx(program: Program, arch: str) -> Listing:
    """Return the PTX of a program for an architecture such as `sm_90`, from the cache if possible.

    Raises:
        KernelError: the program does not compile.
        NoDeviceError: there is no nvcc, or nvcc cannot compile for that architecture.
    """
    cubin = compile_for_gpu(program, arch)  # raises KernelError if the program does not compile
    command = [*nvcc_command(program, arch), "--ptx"]

    def make(target: Path) -> None:
        text, _ = made_by_nvcc(command, program.text, ".ptx")
        if not text:
            raise KernelError("nvcc made no PTX")
        target.write_bytes(text)

    path = cached([*made_from(program, arch), "--ptx"], ".ptx", make)
    text = path.read_bytes().decode(errors="replace")
    return Listing("ptx", arch, cubin.kernel, text, _ptx_lines(text, cubin.kernel))


def sass(program: Program, arch: str) -> Listing:
    """Return the SASS of a program for an architecture such as `sm_90`, from the cache if possible.

    Raises:
        KernelError: the program does not compile.
        NoDeviceError: there is no nvcc or no nvdisasm, or one of them does not support the architecture.
    """
    cubin, text = disassembled(program, arch)
    section = _section(text, cubin.kernel)
    return Listing("sass", arch, cubin.kernel, section, _sass_lines(section))


def disassembled(program: Program, arch: str, *options: str) -> tuple[Cubin, str]:
    """Return the cubin of a program, and the output of nvdisasm for it, from the cache if possible.

    Args:
        options: options of nvdisasm besides `--print-code`.

    Raises:
        KernelError: the program does not compile.
        NoDeviceError: there is no nvcc or no nvdisasm, or one of them does not support the architecture.
    """
    disassembler = nvdisasm()
    cubin = compile_for_gpu(program, arch)
    command = [str(disassembler), "--print-code", *options]

    def make(target: Path) -> None:
        with temporary_folder() as folder:
            image = folder / "kernel.cubin"
            image.write_bytes(cubin.image)
            completed = run_to_end([*command, str(image)])
        if completed.returncode != 0:
            reason = " ".join(completed.stderr.split())[:200] or f"status {completed.returncode}"
            raise NoDeviceError(
                f"{disassembler} cannot read code for {arch} ({reason}); install a newer one: "
                f"{INSTALL_NVDISASM}"
            )
        target.write_text(completed.stdout, encoding="utf-8", errors="surrogateescape")

    path = cached([_digest(cubin), _version(disassembler), *command], ".sass", make)
    return cubin, path.read_bytes().decode(errors="replace")


@functools.cache
def _version(disassembler: Path) -> str:
    return run_nvcc(disassembler, "--version")


LISTINGS: dict[Kind, Callable[[Program, str], Listing]] = {"ptx": ptx, "sass": sass}

INSTALL_NVDISASM = "pip install nvidia-cuda-nvdisasm"


def nvdisasm() -> Path:
    """Return NVIDIA's disassembler. Raises NoDeviceError, with what to install, if it is not found."""
    path = find_nvdisasm(nvcc().path)
    if path is None:
        raise NoDeviceError(
            f"nvdisasm, which reads machine code, was not found: {INSTALL_NVDISASM}, or install the CUDA "
            "toolkit (cuobjdump alone is not enough, because it runs nvdisasm); --ptx works without nvdisasm"
        )
    return path


def _digest(cubin: Cubin) -> str:
    return hashlib.sha256(cubin.image).hexdigest()


# A function's head, up to the `;` that ends a declaration or the `{` that begins a body.
_FUNCTION = re.compile(
    r"^[^\n;{}]*\.(?:entry|func)\s+(?:\([^()]*\)\s*)?([\w$]+)[^{;]*([{;]|\Z)", re.MULTILINE
)
_CALL = re.compile(r"\bcall(?:\.uni)?\s+(?:\([^()]*\)\s*,\s*)?([\w$]+)")


def _ptx_lines(text: str, kernel: str) -> tuple[Line, ...]:
    """Return the lines of a kernel and of the functions that it calls, in the order of the file."""
    code = without_comments(text)
    bodies: dict[str, tuple[int, int]] = {}
    for head in _FUNCTION.finditer(code):
        if head[2] == "{":
            bodies[head[1]] = (head.start(), _closing_brace(code, head.end()))
    if kernel not in bodies:
        raise KernelError(f"nvcc's PTX has no kernel {kernel} (found: {', '.join(bodies) or 'none'})")
    reached = [kernel]
    for name in reached:
        start, end = bodies[name]
        called = (call[1] for call in _CALL.finditer(code, start, end))
        reached += [name for name in dict.fromkeys(called) if name in bodies and name not in reached]
    lines: list[Line] = []
    for start, end in sorted(bodies[name] for name in reached):
        is_open = True  # no instruction begins inside a head, nor inside a statement of several lines
        for line in code[start:end].splitlines():
            indent = "    " if line[:1].isspace() else ""
            for statement in re.findall(r"[^;]+;?", line):  # inline assembly may put several on a line
                words = " ".join(statement.split())
                if not words:
                    continue
                opcode = None if is_open else _PTX_OPCODE.match(words)
                compared = _compared_ptx(words, kernel)
                lines.append(Line(indent + words, opcode[1] if opcode else "", compared))
                is_open = words[-1] not in ";{}:"
    return tuple(lines)


def _closing_brace(code: str, position: int) -> int:
    """Return the position behind the brace that closes the brace opened just before `position`."""
    depth = 1
    while depth and position < len(code):
        depth += (code[position] == "{") - (code[position] == "}")
        position += 1
    return position


def _compared_ptx(words: str, kernel: str) -> str:
    words = re.sub(rf"{re.escape(kernel)}\b|{re.escape(kernel)}(?=_param_)", "kernel", words)
    words = re.sub(r"\$L\w+", "$L", words)
    return re.sub(r"%([a-z]+)\d+\b", r"%\1", words)


# A scope's brace, a label and a predicate may come before an opcode on its line.
_PTX_OPCODE = re.compile(r"[{}\s]*(?:[\w$%]+\s*:(?!:)\s*)?(?:@!?%?\w+\s+)?([a-z][\w.:]*)(?![\w.:]|\s*:)")


def _section(text: str, kernel: str) -> str:
    """Return the kernel's part of nvdisasm's output, which contains all code of a cubin."""
    parts = re.split(r"^(?=//-{5,} )", text, flags=re.MULTILINE)
    for part in parts:
        if re.match(rf"//-+ \.text\.{re.escape(kernel)}\s", part):
            return part.rstrip() + "\n"
    raise KernelError(f"the output of nvdisasm contains no code of {kernel}")


_ADDRESS = re.compile(r"\s*/\*[0-9a-f]+\*/")
_SASS_OPCODE = re.compile(r"(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")


def _sass_lines(section: str) -> tuple[Line, ...]:
    """Return the labels and instructions of a section, without the padding NOPs at its end."""
    lines: list[Line] = []
    for text in section.splitlines():
        address = _ADDRESS.match(text)
        words = text[address.end() :].partition("/*")[0].strip() if address else ""
        instruction = words.removeprefix("{").removesuffix("}").strip().removesuffix(";").rstrip()
        if instruction:
            opcode = _SASS_OPCODE.match(instruction)
            lines.append(Line("    " + instruction, opcode[1] if opcode else "", _compared_sass(instruction)))
        elif re.match(r"\.L\w+:", text):
            lines.append(Line(text.strip(), "", ".L:"))
    while lines and lines[-1].opcode in ("", "NOP"):
        lines.pop()
    return tuple(lines)


def _compared_sass(instruction: str) -> str:
    instruction = re.sub(r"\.L\w+", ".L", instruction.replace(".reuse", ""))
    return " ".join(re.sub(r"\b(UR|UP|R|P|B|SB)\d+\b", r"\1", instruction).split())
