"""Variant and target to compiled kernel.

`program` substitutes a variant's parameters into its method's source; `host` compiles that for the CPU
device, `cuda` for a GPU. Both keep what they compiled, so nothing is compiled twice; `ahead` compiles a
batch over all cores.
"""

from cudamm.compile.ahead import compile_all, compile_each
from cudamm.compile.program import Program, program

__all__ = ["Program", "compile_all", "compile_each", "program"]
