"""What can be run: methods, as the files of `cuda_src` declare them, and variants of them.

A method is one file; its header says everything the program needs to know (`header`). A variant is a
method with its parameters chosen (`variant`). `ladder` lists the methods in the order of their files,
`libraries` those that call a library, and `methods` both.
"""

from cudamm.catalog.header import read_method
from cudamm.catalog.ladder import find, ladder, libraries, methods
from cudamm.catalog.method import ELEMENT_TYPES, ElementType, Method, Parameter, Value
from cudamm.catalog.variant import Traffic, Variant, parse_values, variants

__all__ = [
    "ELEMENT_TYPES",
    "ElementType",
    "Method",
    "Parameter",
    "Traffic",
    "Value",
    "Variant",
    "find",
    "ladder",
    "libraries",
    "methods",
    "parse_values",
    "read_method",
    "variants",
]
