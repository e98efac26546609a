"""Translate instructions of PTX to C++ statements.

Source: NVIDIA's “PTX ISA”. `devices/cpu_runtime/ptx.h` has the functions that the C++ text calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

TYPES = {
    "b8": "unsigned char", "u8": "unsigned char", "s8": "signed char",
    "b16": "unsigned short", "u16": "unsigned short", "s16": "short",
    "b32": "unsigned", "u32": "unsigned", "s32": "int", "f32": "float",
    "b64": "unsigned long long", "u64": "unsigned long long", "s64": "long long", "f64": "double",
    "pred": "bool",
}  # fmt: skip
"""The C++ type of each type of PTX."""

REGISTER_TYPES = TYPES | {
    "f16": "unsigned short", "bf16": "unsigned short", "f16x2": "unsigned", "bf16x2": "unsigned"
}  # fmt: skip
"""The C++ type of a register of each type of PTX."""

_SPECIAL = {
    "laneid": "(unsigned)cudamm::lane()",
    "warpid": "(cudamm::place.thread / 32)",
    "nwarpid": "cudamm::ptx::warps_of_block()",
    "smid": "0u",
    "nsmid": "1u",
    "gridid": "0ull",
    "clock": "(unsigned)cudamm::nanoseconds()",
    "clock_hi": "(unsigned)(cudamm::nanoseconds() >> 32)",
    "clock64": "(unsigned long long)cudamm::nanoseconds()",
    "globaltimer": "(unsigned long long)cudamm::nanoseconds()",
    "globaltimer_lo": "(unsigned)cudamm::nanoseconds()",
    "globaltimer_hi": "(unsigned)(cudamm::nanoseconds() >> 32)",
    "lanemask_eq": "(1u << cudamm::lane())",
    "lanemask_lt": "((1u << cudamm::lane()) - 1)",
    "lanemask_le": "((2u << cudamm::lane()) - 1)",
    "lanemask_gt": "~((2u << cudamm::lane()) - 1)",
    "lanemask_ge": "~((1u << cudamm::lane()) - 1)",
    "dynamic_smem_size": "(unsigned)cudamm::dynamic_shared_size()",
}
for _name, _variable in (
    ("tid", "thread_index"), ("ntid", "block_dim"), ("ctaid", "block_index"), ("nctaid", "grid_dim")
):  # fmt: skip
    _SPECIAL |= {f"{_name}.{axis}": f"cudamm::place.{_variable}.{axis}" for axis in "xyz"}

_COMPARISONS = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "lo": "<", "ls": "<=", "hi": ">", "hs": ">=",
}  # fmt: skip

_HERE = "__builtin_LINE(), __builtin_FILE()"


class UnknownInstructionError(Exception):
    """An instruction that has no translation."""


@dataclass
class Scope:
    """The registers of an `asm` statement.

    Attributes:
        registers: name in C++ and type of each register, by its name in PTX.
        number: number of the statement in the file, for unique labels.
    """

    registers: dict[str, tuple[str, str]]
    number: int

    def type_of(self, operand: str) -> str:
        """Return the C++ type of a register; empty for anything else."""
        return self.registers.get(operand, ("", ""))[1]

    def value(self, operand: str, of_type: str) -> str:
        """Return a C++ expression for an operand that an instruction reads as a type."""
        operand = operand.strip()
        if operand.startswith("!"):
            return f"!{self.value(operand[1:], of_type)}"
        if operand in self.registers:
            name, its_type = self.registers[operand]
            return name if its_type == of_type else f"cudamm::ptx::get<{of_type}>({name})"
        if operand.lstrip("%") in _SPECIAL:
            return f"({of_type}){_SPECIAL[operand.lstrip('%')]}"
        if operand == "WARP_SZ":
            return f"({of_type})32"
        if re.fullmatch(r"0[fFdD][0-9a-fA-F]{8,16}", operand):
            bits, kind = operand[2:], "float" if operand[1] in "fF" else "double"
            return f"({of_type})cudamm::ptx::get<{kind}>(0x{bits}u{'ll' * (kind == 'double')})"
        if re.fullmatch(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?", operand):
            return f"({of_type}){operand.rstrip('U')}"
        if re.fullmatch(r"-?\d*\.\d*(?:[eE][-+]?\d+)?", operand):
            return f"({of_type}){operand}"
        raise UnknownInstructionError

    def assignment(self, operand: str, of_type: str, value: str) -> str:
        """Return a C++ statement that sets a register to a value of a type."""
        operand = operand.strip()
        if operand == "_":
            return f"(void)({value});"
        if operand not in self.registers:
            raise UnknownInstructionError
        name, its_type = self.registers[operand]
        if its_type == of_type:
            return f"{name} = {value};"
        return f"cudamm::ptx::set<{of_type}>({name}, {value});"

    def label(self, name: str) -> str:
        """Return the name in C++ of a label, which is unique in the file."""
        return f"cudamm_{self.number}_{re.sub(r'[$%]', '_', name)}"

    def address(self, operand: str, space: str) -> str:
        """Return a C++ pointer for an operand such as `[%0 + 16]`."""
        inside = re.fullmatch(r"\[\s*([^\]]*?)\s*\]", operand.strip())
        if not inside:
            raise UnknownInstructionError
        terms = re.split(r"\s*\+\s*", inside[1])
        first = self.value(terms[0], "unsigned long long")
        offsets = "".join(f" + {self.value(term, 'long long')}" for term in terms[1:])
        if space == "shared":
            return f"(cudamm::shared_pointer({first}){offsets})"
        return f"((char*)({first}){offsets})"


def translated_instruction(opcode: str, operands: Sequence[str], scope: Scope) -> str:
    """Return the C++ statement of an instruction.

    Raises:
        UnknownInstructionError: the instruction has no translation.
    """
    name, *modifiers = opcode.split(".")
    if {"b128", "f32x2"} & set(modifiers):
        raise UnknownInstructionError
    types = [m for m in modifiers if m in TYPES]
    given = _Given(name, modifiers, types, operands, scope)
    if name not in ("mma", "ldmatrix", "cvt") and {*_NARROW, "tf32"} & set(modifiers):
        return _narrow_arithmetic(given)
    for prefix, translate in _FAMILIES.items():
        if name in prefix.split():
            return translate(given)
    raise UnknownInstructionError


@dataclass(frozen=True)
class _Given:
    """An instruction: its name, what follows the name, the types among that, and its operands."""

    name: str
    modifiers: Sequence[str]
    types: Sequence[str]
    operands: Sequence[str]
    scope: Scope

    @property
    def type(self) -> str:
        """The C++ type of the instruction, the last that it names."""
        if not self.types:
            raise UnknownInstructionError
        return TYPES[self.types[-1]]

    @property
    def first_type(self) -> str:
        """The C++ type that the instruction names first."""
        return TYPES[self.types[0]] if self.types else self.type

    @property
    def is_float(self) -> bool:
        return self.type in ("float", "double")

    def has(self, *modifiers: str) -> bool:
        return not set(modifiers).isdisjoint(self.modifiers)

    def choice(self, *modifiers: str) -> str:
        """Return the first modifier of the instruction that is one of these."""
        for modifier in self.modifiers:
            if modifier in modifiers:
                return modifier
        raise UnknownInstructionError

    def operand(self, index: int) -> str:
        if index >= len(self.operands):
            raise UnknownInstructionError
        return self.operands[index]

    def source(self, index: int, of_type: str = "") -> str:
        return self.scope.value(self.operand(index), of_type or self.type)

    def result(self, value: str, of_type: str = "") -> str:
        return self.scope.assignment(self.operand(0), of_type or self.type, value)

    @property
    def space(self) -> str:
        """`shared`, or empty for addresses that are pointers."""
        if self.has("param", "shared::cluster"):
            raise UnknownInstructionError
        return "shared" if self.has("shared", "shared::cta") else ""


_BINARY = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "div": "{0} / {1}", "rem": "{0} % {1}",
    "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}",
}  # fmt: skip
_UNARY = {
    "neg": "-({0})", "not": "~({0})", "rcp": "1 / ({0})",
    "sqrt": "cudamm::ptx::square_root({0})", "rsqrt": "1 / cudamm::ptx::square_root({0})",
    "sin": "__builtin_sinf({0})", "cos": "__builtin_cosf({0})", "lg2": "__builtin_log2f({0})",
    "ex2": "__builtin_exp2f({0})", "tanh": "__builtin_tanhf({0})",
    "abs": "(({0}) < 0 ? -({0}) : ({0}))", "cnot": "!({0})",
}  # fmt: skip


def _arithmetic(i: _Given) -> str:
    """Translate an instruction whose result is an expression of its operands."""
    if i.has("cc", "rz", "rm", "rp"):
        raise UnknownInstructionError
    kind = "bool" if i.types and i.types[-1] == "pred" else i.type
    sources = [i.source(n, kind) for n in ((1, 2) if i.name in _BINARY else (1,))]
    if i.name == "not" and kind == "bool":
        value = f"!({sources[0]})"
    elif i.name == "abs" and i.is_float:
        value = f"__builtin_fabs({sources[0]})"
    else:
        form = _BINARY[i.name] if i.name in _BINARY else _UNARY[i.name]
        value = form.format(*sources)
    return i.result(_saturated(i, value), kind)


def _saturated(i: _Given, value: str) -> str:
    if i.has("sat") and i.is_float:
        return f"cudamm::ptx::saturated({value})"
    if i.has("sat"):
        raise UnknownInstructionError
    return f"({i.type if i.types[-1] != 'pred' else 'bool'})({value})"


_NARROW = {"f16": "__half", "f16x2": "__half2", "bf16": "__nv_bfloat16", "bf16x2": "__nv_bfloat162"}
"""The C++ type of each type of 16-bit real numbers; `x2` are two in a register."""

_NARROW_FORMS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "neg": "-{0}", "abs": "__habs{x2}({0})",
    "min": "__hmin{x2}({0}, {1})", "max": "__hmax{x2}({0}, {1})", "fma": "__hfma{x2}({0}, {1}, {2})",
}  # fmt: skip


def _narrow_arithmetic(i: _Given) -> str:
    """Translate arithmetic on 16-bit real numbers."""
    kind = i.modifiers[-1]
    form = _NARROW_FORMS.get(i.name, "")
    if not form or kind not in _NARROW or not {kind, "rn", "ftz"}.issuperset(i.modifiers):
        raise UnknownInstructionError
    register = "unsigned" if kind.endswith("x2") else "unsigned short"
    values = [
        f"cudamm::ptx::get<{_NARROW[kind]}>({i.source(n, register)})" for n in range(1, len(i.operands))
    ]
    if len(values) < 1 + form.count("{1}") + form.count("{2}"):
        raise UnknownInstructionError
    value = form.format(*values, x2="2" if kind.endswith("x2") else "")
    return i.result(f"cudamm::ptx::get<{register}>({value})", register)


def _multiplication(i: _Given) -> str:
    """Translate mul, mad, fma, mul24 and mad24."""
    if i.has("cc", "rz", "rm", "rp"):
        raise UnknownInstructionError
    added = f" + {i.source(3)}" if i.name in ("mad", "fma", "mad24") and not i.has("wide") else ""
    if i.is_float:
        if added:
            fused = "__builtin_fmaf" if i.type == "float" else "__builtin_fma"
            return i.result(_saturated(i, f"{fused}({i.source(1)}, {i.source(2)}, {i.source(3)})"))
        return i.result(_saturated(i, f"{i.source(1)} * {i.source(2)}"))
    if i.name in ("mul24", "mad24"):
        function = "__mul24" if i.type == "int" else "__umul24"
        return i.result(f"({i.type})({function}({i.source(1)}, {i.source(2)}){added})")
    if i.has("wide"):
        wide = {"unsigned short": "unsigned", "short": "int", "unsigned": "unsigned long long"}
        result = wide.get(i.type, "long long")
        if i.type in ("long long", "unsigned long long"):
            raise UnknownInstructionError
        more = f" + {i.source(3, result)}" if i.name == "mad" else ""
        return i.result(f"({result})(({result}){i.source(1)} * ({result}){i.source(2)}{more})", result)
    if i.has("hi"):
        product = f"cudamm::ptx::high_product({i.source(1)}, {i.source(2)})"
    else:
        product = f"{i.source(1)} * {i.source(2)}"
    return i.result(f"({i.type})({product}{added})")


def _extreme(i: _Given) -> str:
    """Translate min and max; a NaN gives way to a number."""
    a, b = i.source(1), i.source(2)
    if i.is_float:
        function = f"__builtin_f{i.name}" + ("f" if i.type == "float" else "")
        return i.result(f"{function}({a}, {b})")
    return i.result(f"({b} < {a} ? {b} : {a})" if i.name == "min" else f"({a} < {b} ? {b} : {a})")


def _shift(i: _Given) -> str:
    """Translate shl and shr: a shift by the width or more leaves nothing but the sign."""
    return i.result(f"cudamm::ptx::{i.name}<{i.type}>({i.source(1)}, {i.source(2, 'unsigned')})")


def _comparison(i: _Given) -> str:
    """Translate setp, with one or two results, alone or combined with a predicate."""
    comparison = i.choice(*_COMPARISONS, *(f"{c}u" for c in _COMPARISONS), "num", "nan")
    a, b = i.source(1), i.source(2)
    if comparison in ("num", "nan"):
        value = f"({a} != {a} || {b} != {b})"
        value = f"!{value}" if comparison == "num" else value
    elif comparison in _COMPARISONS and not (comparison == "ne" and i.is_float):
        value = f"({a} {_COMPARISONS[comparison]} {b})"
    elif comparison == "ne":
        value = f"({a} < {b} || {a} > {b})"
    else:
        value = f"({a} != {a} || {b} != {b} || {a} {_COMPARISONS[comparison[:-1]]} {b})"
    first, _, second = i.operand(0).partition("|")

    def with_third(truth: str) -> str:
        if not i.has("and", "or", "xor"):
            return truth
        operator = {"and": "&&", "or": "||", "xor": "!="}[i.choice("and", "or", "xor")]
        return f"({truth} {operator} {i.source(3, 'bool')})"

    if not second:
        return i.scope.assignment(first, "bool", with_third(value))
    both = f"cudamm_p = {with_third('cudamm_truth')}, cudamm_q = {with_third('!cudamm_truth')};"
    assigned = [i.scope.assignment(first, "bool", "cudamm_p"), i.scope.assignment(second, "bool", "cudamm_q")]
    return f"{{ const bool cudamm_truth = {value}; const bool {both} {' '.join(assigned)} }}"


def _selection(i: _Given) -> str:
    if i.name == "slct":
        kind = i.first_type
        return i.result(f"({i.source(3)} >= 0 ? {i.source(1, kind)} : {i.source(2, kind)})", kind)
    return i.result(f"({i.source(3, 'bool')} ? {i.source(1)} : {i.source(2)})")


def _move(i: _Given) -> str:
    """Translate mov, which also packs and unpacks registers."""
    to, source = i.operand(0), i.operand(1)
    if source.startswith("{") or to.startswith("{"):
        parts = [part.strip() for part in (source if source.startswith("{") else to)[1:-1].split(",")]
        bits = 8 * _SIZES.get(i.type, 0) // len(parts)
        if bits not in (8, 16, 32):
            raise UnknownInstructionError
        piece = f"unsigned {'char' if bits == 8 else 'short' if bits == 16 else 'int'}"
        if source.startswith("{"):
            values = (f"({i.type}){i.scope.value(p, piece)} << {n * bits}" for n, p in enumerate(parts))
            return i.result(" | ".join(values))
        whole = f"const {i.type} cudamm_whole = {i.scope.value(source, i.type)};"
        pieces = (
            i.scope.assignment(part, piece, f"({piece})(cudamm_whole >> {n * bits})")
            for n, part in enumerate(parts)
        )
        return f"{{ {whole} {' '.join(pieces)} }}"
    return i.result(i.source(1))


_SIZES = {"unsigned short": 2, "unsigned": 4, "unsigned long long": 8}


_FROM_FLOAT = {
    ("rna", "tf32"): "float_bits(cudamm::float_to_tf32({0}))",
    ("rn", "f16"): "float_to_half({0})",
    ("rn", "bf16"): "float_to_bfloat16({0})",
}
"""For a rounding and a type, the function of sixteen_bits.h that converts a float."""


def _narrow_conversion(i: _Given) -> str:
    """Translate cvt between float32 and TF32, half and bfloat16, and from two float32 to a pair."""
    if i.has("f16", "bf16") and i.modifiers in (["f32", "f16"], ["f32", "bf16"]):
        function = "half_to_float" if i.has("f16") else "bfloat16_to_float"
        return i.result(f"cudamm::{function}({i.source(1, 'unsigned short')})", "float")
    rounding, kind, *source = i.modifiers
    function = _FROM_FLOAT.get((rounding, kind.removesuffix("x2")), "")
    if source != ["f32"] or not function:
        raise UnknownInstructionError
    values = [f"(unsigned)cudamm::{function.format(i.source(n, 'float'))}" for n in range(1, len(i.operands))]
    if kind.endswith("x2") and len(values) == 2:  # the first source becomes the upper half
        return i.result(f"({values[0]} << 16 | {values[1]})", "unsigned")
    if kind.endswith("x2") or len(values) != 1:
        raise UnknownInstructionError
    return i.result(values[0], "unsigned") if kind == "tf32" else i.result(values[0], "unsigned short")


def _conversion(i: _Given) -> str:
    """Translate cvt."""
    if i.has("f16", "f16x2", "bf16", "bf16x2", "tf32"):
        return _narrow_conversion(i)
    to, source = i.first_type, i.type
    value = i.source(1, source)
    from_real, to_real = source in ("float", "double"), to in ("float", "double")
    if i.has("rz", "rm", "rp") and to_real:
        raise UnknownInstructionError
    if from_real and (i.has("rni", "rzi", "rmi", "rpi") or not to_real):
        rounding = {"rni": "rint", "rmi": "floor", "rpi": "ceil"}
        function = next((f for modifier, f in rounding.items() if i.has(modifier)), "trunc")
        value = f"__builtin_{function}({value})"
        if not to_real:
            return i.result(f"cudamm::saturated<{to}>({value})", to)
    if i.has("sat"):
        value = f"cudamm::ptx::saturated({value})" if to_real else f"cudamm::ptx::clamped<{to}>({value})"
    return i.result(f"({to})({value})", to)


def _count(i: _Given) -> str:
    kind = "unsigned" if _SIZES.get(i.type, 4) == 4 else "unsigned long long"
    wide = "ll" if kind == "unsigned long long" else ""
    function = {"popc": f"__popc{wide}", "clz": f"__clz{wide}", "brev": f"__brev{wide}"}[i.name]
    result = kind if i.name == "brev" else "unsigned"
    return i.result(f"({result}){function}({i.source(1, kind)})", result)


def _bits(i: _Given) -> str:
    """Translate bfe, bfi, prmt, lop3, shf and dp4a."""
    if i.name == "bfe":
        return i.result(
            f"cudamm::ptx::bfe<{i.type}>({i.source(1)}, {i.source(2, 'unsigned')}, {i.source(3, 'unsigned')})"
        )
    if i.name == "bfi":
        places = f"{i.source(3, 'unsigned')}, {i.source(4, 'unsigned')}"
        return i.result(f"cudamm::ptx::bfi<{i.type}>({i.source(1)}, {i.source(2)}, {places})")
    if i.name == "dp4a":
        kind = i.type if set(i.types) in ({"s32"}, {"u32"}) else ""
        if not kind:
            raise UnknownInstructionError
        return i.result(f"__dp4a({', '.join(i.source(n, kind) for n in (1, 2, 3))})", kind)
    sources = [i.source(n, "unsigned") for n in ((1, 2, 3, 4) if i.name == "lop3" else (1, 2, 3))]
    if i.name == "shf":
        function = f"__funnelshift_{'l' if i.has('l') else 'r'}{'c' if i.has('clamp') else ''}"
        return i.result(f"{function}({', '.join(sources)})", "unsigned")
    if i.name == "prmt" and i.has("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        raise UnknownInstructionError
    return i.result(f"cudamm::ptx::{i.name}({', '.join(sources)})", "unsigned")


def _ordering(i: _Given) -> str:
    """Return the name of the function of ptx.h that accesses memory; empty for a plain access."""
    if i.has("volatile", "mmio"):
        return "volatile"
    return "atomic" if i.has("acquire", "release", "relaxed", "seq_cst") else ""


def _vector(i: _Given, operand: str) -> list[str]:
    """Return the registers of an operand such as `{%0, %1}`."""
    count = 4 if i.has("v4") else 2 if i.has("v2") else 1
    registers = [r.strip() for r in operand[1:-1].split(",")] if operand.startswith("{") else [operand]
    if len(registers) != count or i.has("v8"):
        raise UnknownInstructionError
    return registers


def _load(i: _Given) -> str:
    if i.has("const") and not i.operand(1).startswith("["):
        raise UnknownInstructionError
    registers, pointer = _vector(i, i.operand(0)), i.scope.address(i.operand(1), i.space)
    count, ordering = len(registers), _ordering(i)
    if count == 1 and ordering == "atomic":
        return i.scope.assignment(registers[0], i.type, f"cudamm::ptx::atomic_load(({i.type}*){pointer})")
    if count == 1:
        return i.scope.assignment(registers[0], i.type, f"*(const {ordering} {i.type}*){pointer}")
    kind = f"cudamm::ptx::Vector<{i.type}, {count}>"
    assignments = (i.scope.assignment(r, i.type, f"cudamm_v.at[{n}]") for n, r in enumerate(registers))
    return f"{{ {kind} cudamm_v = *(const {kind}*){pointer}; {' '.join(assignments)} }}"


def _store(i: _Given) -> str:
    registers, pointer = _vector(i, i.operand(1)), i.scope.address(i.operand(0), i.space)
    values = [i.scope.value(r, i.type) for r in registers]
    ordering = _ordering(i)
    if len(values) == 1 and ordering == "atomic":
        return f"cudamm::ptx::atomic_store(({i.type}*){pointer}, {values[0]});"
    if len(values) == 1:
        return f"*({ordering} {i.type}*){pointer} = {values[0]};"
    kind = f"cudamm::ptx::Vector<{i.type}, {len(values)}>"
    return f"{{ const {kind} cudamm_v = {{{{{', '.join(values)}}}}}; *({kind}*){pointer} = cudamm_v; }}"


def _address_conversion(i: _Given) -> str:
    value = i.source(1, "unsigned long long")
    if i.name == "isspacep":
        tests = {
            "shared": "__isShared",
            "shared::cta": "__isShared",
            "global": "__isGlobal",
            "local": "__isLocal",
        }
        test = tests[i.choice(*tests)]
        return i.result(f"{test}((const void*){value})", "bool")
    if i.has("shared", "shared::cta"):
        value = (
            f"(unsigned){value}" if i.has("to") else f"(unsigned long long)cudamm::shared_pointer({value})"
        )
    return i.result(f"({i.type})({value})")


def _copy(i: _Given) -> str:
    """Translate cp.async and its groups."""
    if i.has("bulk", "mbarrier", "reduce", "shared::cluster") or i.name != "cp":
        raise UnknownInstructionError
    if i.has("commit_group"):
        return "cudamm::commit_group();"
    if i.has("wait_group"):
        return f"cudamm::wait_for_groups({i.source(0, 'unsigned')});"
    if i.has("wait_all"):
        return "cudamm::commit_group(); cudamm::wait_for_groups(0);"
    to = i.scope.address(i.operand(0), "shared")
    source = i.scope.address(i.operand(1), "")
    size = i.source(2, "unsigned")
    further = i.operands[3 : len(i.operands) - i.has("L2::cache_hint")]
    zeros = "0u"
    if further and i.scope.type_of(further[0].lstrip("!")) == "bool":  # a predicate: the source is ignored
        zeros = f"({i.scope.value(further[0], 'bool')} ? {size} : 0u)"
    elif further:
        zeros = f"({size} - {i.scope.value(further[0], 'unsigned')})"
    return f"cudamm::start_hardware_copy({to}, {source}, {size}, {zeros}, {_HERE});"


def _barrier(i: _Given) -> str:
    """Translate bar and barrier."""
    if i.has("cluster"):
        raise UnknownInstructionError
    if i.has("warp"):
        return f"__syncwarp({i.source(0, 'unsigned')}, {_HERE});"
    if i.has("red"):
        if len(i.operands) != 3 or i.operand(1) != "0":
            raise UnknownInstructionError
        function = "count" if i.has("popc") else "and" if i.has("and") else "or"
        kind = "unsigned" if i.has("popc") else "bool"
        return i.result(f"__syncthreads_{function}({i.source(2, 'bool')}, {_HERE})", kind)
    if not i.has("sync", "arrive"):
        raise UnknownInstructionError
    threads = i.source(1, "unsigned") if len(i.operands) > 1 else "0"
    waits = "true" if i.has("sync") else "false"
    return f"cudamm::meet_at({i.source(0, 'unsigned')}, {threads}, {waits}, {_HERE});"


def _warp(i: _Given) -> str:
    """Translate vote, match, redux and activemask."""
    if i.name == "activemask":
        return i.result(f"__activemask({_HERE})", "unsigned")
    if i.name == "redux":
        operation = i.choice("add", "min", "max", "and", "or", "xor")
        if i.is_float:
            raise UnknownInstructionError
        return i.result(f"__reduce_{operation}_sync({i.source(2, 'unsigned')}, {i.source(1)}, {_HERE})")
    mask = i.source(2, "unsigned")
    if i.name == "match":
        if i.has("all"):
            raise UnknownInstructionError
        return i.result(f"__match_any_sync({mask}, {i.source(1)}, {_HERE})", "unsigned")
    kind = "unsigned" if i.has("ballot") else "bool"
    function = i.choice("all", "any", "ballot")
    return i.result(f"__{function}_sync({mask}, {i.source(1, 'bool')}, {_HERE})", kind)


_FACTORS = {
    "f16": ("half", {"m16n8k8", "m16n8k16"}),
    "bf16": ("bfloat16", {"m16n8k8", "m16n8k16"}),
    "tf32": ("tf32", {"m16n8k4", "m16n8k8"}),
    "f64": ("float64", {"m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"}),
    "s8": ("int8", {"m8n8k16", "m16n8k16", "m16n8k32"}),
    "u8": ("uint8", {"m8n8k16", "m16n8k16", "m16n8k32"}),
}
"""For each type of A and B in mma: its name in tensor_cores.h, and the shapes."""

_SUMS = {
    "f16": {("f16", "f16"), ("f32", "f32"), ("f32", "f16"), ("f16", "f32")},
    "bf16": {("f32", "f32")},
    "tf32": {("f32", "f32")},
    "f64": {("f64", "f64")},
    "s8": {("s32", "s32")},
    "u8": {("s32", "s32")},
}
"""For each type of A, the types that D and C may have."""

_SUM_NAMES = {"f16": "half", "f32": "float32", "f64": "float64", "s32": "int32"}
_REGISTERS = {"f32": "float", "f64": "double", "s32": "int"}
"""The C++ type of a register of a fragment; it is `unsigned` for other types, of which it holds several."""


def _matrix_product(i: _Given) -> str:
    """Translate mma.sync: all lanes of a warp pass their fragments, and get theirs of the result."""
    d, a, b, c = i.modifiers[-4:] if len(i.modifiers) >= 8 else [""] * 4
    shape = i.modifiers[2] if len(i.modifiers) >= 8 else ""
    others = set(i.modifiers[3:-4]) - {"satfinite", "rn"}
    bytes_of = {"f64": 8, "tf32": 4, "s8": 1, "u8": 1}
    if (
        a not in _FACTORS
        or (a != b and {a, b} != {"s8", "u8"})
        or (d, c) not in _SUMS[a]
        or shape not in _FACTORS[a][1]
        or others != {"row", "col"}
        or list(i.modifiers[3:5]) != ["row", "col"]
    ):
        raise UnknownInstructionError
    m, n, k = map(int, re.findall(r"\d+", shape))
    narrow = bytes_of.get(a, 2)
    wide = {"f16": 2, "f64": 8}
    fragments = (
        ("d", d, m * n * wide.get(d, 4)),
        ("a", a, m * k * narrow),
        ("b", b, k * n * narrow),
        ("c", c, m * n * wide.get(c, 4)),
    )
    parts, assignments = list[str](), list[str]()
    for index, (name, kind, size) in enumerate(fragments):
        register = _REGISTERS.get(kind, "unsigned")
        operand = i.operand(index)
        registers = [r.strip() for r in operand[1:-1].split(",")] if operand.startswith("{") else [operand]
        if len(registers) * 32 * (8 if register == "double" else 4) != size:
            raise UnknownInstructionError
        if name == "d":
            parts.append(f"{register} cudamm_d[{len(registers)}];")
            assignments = [
                i.scope.assignment(r, register, f"cudamm_d[{at}]") for at, r in enumerate(registers)
            ]
        else:
            values = ", ".join(i.scope.value(r, register) for r in registers)
            parts.append(f"const {register} cudamm_{name}[] = {{{values}}};")
    numbers = [_FACTORS[a][0], _FACTORS[b][0], _SUM_NAMES[c], _SUM_NAMES[d]]
    product = ", ".join([*(f"cudamm::Number::{number}" for number in numbers), str(m), str(n), str(k)])
    saturates = "true" if i.has("satfinite") else "false"
    return (
        f"{{ {' '.join(parts)} const cudamm::WarpProduct cudamm_product = {{{product}, {saturates}}}; "
        f"cudamm::multiply_matrices(cudamm_product, cudamm_d, cudamm_a, cudamm_b, cudamm_c, "
        f'"mma.sync", {_HERE}); {" ".join(assignments)} }}'
    )


def _matrix_load(i: _Given) -> str:
    """Translate ldmatrix: each lane passes the address of a row, and gets two elements of each matrix."""
    known = {"sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta", "b16"}
    if not known.issuperset(i.modifiers) or not i.has("b16") or not i.space:
        raise UnknownInstructionError
    operand, count = i.operand(0), int(i.choice("x1", "x2", "x4")[1])
    registers = [r.strip() for r in operand[1:-1].split(",")] if operand.startswith("{") else [operand]
    if len(registers) != count:
        raise UnknownInstructionError
    address = i.scope.address(i.operand(1), "shared")
    transposed = "true" if i.has("trans") else "false"
    assigned = (i.scope.assignment(r, "unsigned", f"cudamm_parts[{n}]") for n, r in enumerate(registers))
    return (
        f"{{ unsigned cudamm_parts[{count}]; cudamm::ptx::load_matrices(cudamm_parts, {address}, {count}, "
        f"{transposed}, {_HERE}); {' '.join(assigned)} }}"
    )


def _shuffle(i: _Given) -> str:
    mode = i.choice("up", "down", "bfly", "idx")
    to, _, valid = i.operand(0).partition("|")
    numbers = ", ".join(i.source(n, "unsigned") for n in (2, 3, 4))
    call = f"cudamm::ptx::shuffle_{mode}(cudamm_value, {numbers}, {_HERE})"
    validity = i.scope.assignment(valid, "bool", "cudamm_valid") if valid else ""
    return (
        f"{{ unsigned cudamm_value = {i.source(1, 'unsigned')}; const bool cudamm_valid = {call}; "
        f"(void)cudamm_valid; {i.scope.assignment(to, 'unsigned', 'cudamm_value')} {validity} }}"
    )


def _atomic(i: _Given) -> str:
    """Translate atom, which returns the old value, and red, which does not."""
    returns = i.name == "atom"
    pointer = i.scope.address(i.operand(returns), i.space)
    functions = {"add": "Add", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor",
                 "inc": "Inc", "dec": "Dec", "exch": "Exch", "cas": "CAS"}  # fmt: skip
    operation = i.choice(*functions)
    if i.has("v2", "v4", "noftz"):
        raise UnknownInstructionError
    given = i.operands[returns + 1 :][: 2 if operation == "cas" else 1]
    values = ", ".join(i.scope.value(operand, i.type) for operand in given)
    call = f"atomic{functions[operation]}(({i.type}*){pointer}, {values})"
    return i.result(call) if returns else f"(void){call};"


def _without_effect(i: _Given) -> str:
    """Translate hints: prefetches, cache policies and the like."""
    return i.result("0ull", "unsigned long long") if i.name == "createpolicy" else ";"


def _control(i: _Given) -> str:
    if i.name == "bra":
        return f"goto {i.scope.label(i.operand(0))};"
    if i.name == "nanosleep":
        return "cudamm::let_others_run();"
    return f'cudamm::stop_kernel("inline PTX executed {i.name}", {_HERE});'


_FAMILIES: dict[str, Callable[[_Given], str]] = {
    " ".join((*_BINARY, *_UNARY)): _arithmetic,
    "mul mad fma mul24 mad24": _multiplication,
    "min max": _extreme,
    "shl shr": _shift,
    "setp": _comparison,
    "selp slct": _selection,
    "mov": _move,
    "cvt": _conversion,
    "popc clz brev": _count,
    "bfe bfi prmt lop3 shf dp4a": _bits,
    "ld ldu": _load,
    "st": _store,
    "cvta isspacep": _address_conversion,
    "cp": _copy,
    "bar barrier": _barrier,
    "vote match redux activemask": _warp,
    "shfl": _shuffle,
    "mma": _matrix_product,
    "ldmatrix": _matrix_load,
    "atom red": _atomic,
    "membar fence": lambda i: "__atomic_thread_fence(__ATOMIC_SEQ_CST);",
    "prefetch prefetchu discard applypriority createpolicy": _without_effect,
    "griddepcontrol setmaxnreg pmevent": _without_effect,
    "bra nanosleep trap brkpt": _control,
}
"""The translation of each instruction, by its name."""
