"""Find out which parameters of a kernel are the matrices A, B and C, and which are the sizes M, N and K.

A kernel for C = A B with A of M x K, B of K x N and C of M x N says this in several ways: by the names of its
parameters and of what its host code passes for them, by the factor of the row in an index (`A[row * K + k]`),
by the bound of its loop over k, by its checks of row and column, and by the memory that is allocated. Each is
a piece of evidence for a role of a size; the roles with most evidence are taken.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from cudamm.source.kernel_body import KernelBody, MatrixUse

MOST_SIZES = 7
"""Number of names of sizes whose roles are tried together."""

DIMENSIONS = {"A": ("M", "K"), "B": ("K", "N"), "C": ("M", "N")}
"""Rows and columns of each matrix."""

_ROW_WORDS = "rows row height h zeilen hoehe lignes filas linhas righe alto"
_COLUMN_WORDS = """
cols col columns column width w stride pitch ld spalten breite colonnes columnas colunas colonne ancho
"""
_ROWS, _COLUMNS = frozenset(_ROW_WORDS.split()), frozenset(_COLUMN_WORDS.split())
_PLAIN = {"inner": "K", "common": "K", "depth": "K", "rows": "M", "height": "M", "cols": "N", "columns": "N"}

STRONG, _USUAL, _WEAK = 6, 3, 2  # weights of evidence


def words_of(name: str) -> list[str]:
    """Return the lower-case words of a name: `num`, `a`, `rows` for `numARows`, and `d`, `a` for `d_A`."""
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+", name)
    return [part.lower() for part in parts]


def matrix_letters(names: Sequence[str]) -> list[str] | None:
    """Return `["A", "B", "C"]` for three names such as d_A, d_B, d_C; None if the names do not say it."""
    for first, second, result in (("a", "b", "c"), ("m", "n", "p"), ("x", "y", "z")):
        letters = [_letter(name, (first, second, result)) for name in names]
        if sorted(letters) == sorted((first, second, result)):
            return [{first: "A", second: "B", result: "C"}[letter] for letter in letters]
    return None


def _letter(name: str, letters: Collection[str]) -> str:
    """Return the letter that is a word of a name, the last of them; empty if there is none."""
    words = words_of(name)
    found = [word for word in words if word in letters]
    if not found and re.fullmatch(r"(?:[dghu]|dev|mat|gpu|mtx|matrix)[abc]", name.lower()):
        found = [name[-1].lower()]
    return found[-1] if found else ""


def roles_in_name(name: str, columns: Collection[str] = ()) -> dict[str, int]:
    """Return the roles that a name suggests, with weights: K for `numAColumns`, M for `m`.

    Args:
        columns: the matrices that are stored column by column.
    """
    words = words_of(name)
    leading = re.fullmatch(r"ld([abc])", "".join(words))
    if leading:
        letter = leading[1].upper()
        return {DIMENSIONS[letter][letter not in columns]: _USUAL}
    glued = re.fullmatch(r"([hw])([abc])", "".join(words))
    if glued:
        words = [glued[1], glued[2]]
    letter = next((word for word in words if word in ("a", "b", "c")), "")
    if letter:
        height, width = DIMENSIONS[letter.upper()]
        if not _ROWS.isdisjoint(words):
            return {height: STRONG}
        if not _COLUMNS.isdisjoint(words):
            return {width: STRONG}
    for word in words:
        if word in _PLAIN:
            return {_PLAIN[word]: _WEAK}
    single = [word for word in words if word in ("m", "n", "k")]
    return {single[-1].upper(): _WEAK} if single else {}


def is_column_major(a: MatrixUse, b: MatrixUse, c: MatrixUse) -> bool:
    """Return whether a kernel's indices say that all three matrices are stored column by column.

    A variable of A and of B that C does not have counts along K. It is added in a row of A, and multiplied by
    the leading dimension in a column of B, if the matrices are row-major.
    """
    along_k = (a.multiplied | a.added) & (b.multiplied | b.added) - c.multiplied - c.added
    row, column = _blocks_along(a, b)
    if along_k:
        says_so = bool(along_k & a.multiplied and along_k & b.added)
        says_so = says_so and not (along_k & a.added or along_k & b.multiplied)
    else:  # the loop moves the pointers: the first row and column of a block tell
        says_so = bool(row & a.added and column & b.multiplied)
        says_so = says_so and not (row & a.multiplied or column & b.added)
    of_c = bool(column & c.multiplied or row & c.added)
    return says_so and of_c and not (row & c.multiplied or column & c.added)


def is_transposed_b(a: MatrixUse, b: MatrixUse, c: MatrixUse) -> bool:
    """Return whether the blocks say that A and C are stored column by column, and B row by row."""
    row, column = _blocks_along(a, b)
    by_column = row & a.added and row & c.added and column & c.multiplied
    by_row = row & (a.multiplied | c.multiplied) or column & (b.multiplied | c.added)
    return bool(by_column and column & b.added and not by_row)


def _blocks_along(a: MatrixUse, b: MatrixUse) -> tuple[set[str], set[str]]:
    """Return the indices of blocks that count rows of A, and those that count columns of B."""
    row, column = ({n for n in use.multiplied | use.added if n.startswith("blockIdx")} for use in (a, b))
    return row - column, column - row


def reads_by_column(a: MatrixUse, b: MatrixUse, c: MatrixUse) -> str:
    """Return which of A and B a kernel with a row-major C reads as if they were column-major.

    A helper function that multiplies two rows of one length, `dot(A + row * K, B + col * K, K)`, reads B so.
    """
    if not (a.added or b.added) and len(a.strides) == 1 and a.strides.keys() == b.strides.keys():
        return "B"
    along_k = (a.multiplied | a.added) & (b.multiplied | b.added) - c.multiplied - c.added
    by_column = ("A", a.multiplied, a.added), ("B", b.added, b.multiplied)
    return "".join(name for name, wanted, other in by_column if along_k & wanted and not along_k & other)


Evidence = Mapping[str, Mapping[str, int]]
"""Weights for the roles of each size, by name."""


def evidence_in(
    body: KernelBody, uses: Mapping[str, MatrixUse], columns: Collection[str]
) -> dict[str, Counter[str]]:
    """Return the evidence of a kernel's code for the roles of its sizes.

    Args:
        uses: of the matrices A, B and C.
        columns: those that are stored column by column.
    """
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for matrix, use in uses.items():
        for size, _ in use.strides.most_common(1):
            found[size][DIMENSIONS[matrix][matrix not in columns]] += _USUAL
    of_result = uses["C"].multiplied | uses["C"].added
    along_k = Counter(size for variable, size in body.loop_bounds() if variable not in of_result)
    for size, _ in along_k.most_common(1):
        found[size]["K"] += _USUAL
    along_row, along_column = uses["C"].multiplied, uses["C"].added
    if ("C" in columns) != _is_written_across(**{name.lower(): use for name, use in uses.items()}):
        along_row, along_column = along_column, along_row
    for varying, size in body.checks():
        for role, along, other in (("M", along_row, along_column), ("N", along_column, along_row)):
            if varying and varying <= along and not varying <= other:
                found[size][role] += _USUAL
    return dict(found)


def _is_written_across(a: MatrixUse, b: MatrixUse, c: MatrixUse) -> bool:
    """Return whether the blocks along the rows of A and the columns of B, row by row, are exchanged in C."""
    row, column = _blocks_along(a, b)
    by_row = row & a.multiplied and column & b.added and not (row & a.added or column & b.multiplied)
    across = row & c.added and column & c.multiplied and not (row & c.multiplied or column & c.added)
    return bool(by_row and across)


def best_roles(evidence: Evidence) -> dict[str, tuple[str, ...]]:
    """Return the roles of each size: those of M, N and K that it stands for.

    One size has all three roles, and of two sizes one has two; of more, each has one.
    """
    sizes = list(evidence)

    def weight(pairs: Iterable[tuple[str, str]]) -> int:
        return sum(evidence[size].get(role, 0) for size, role in pairs)

    if not sizes:
        return {}
    if len(sizes) < len("MNK"):
        ways = [way for way in itertools.product(sizes, repeat=3) if len(set(way)) == len(sizes)]
        best = max(ways, key=lambda way: weight(zip(way, "MNK", strict=True)))
        return {size: tuple(r for s, r in zip(best, "MNK", strict=True) if s == size) for size in sizes}
    if len(sizes) > MOST_SIZES:
        return {size: (max("MNK", key=lambda role: evidence[size].get(role, 0)),) for size in sizes}
    roles = max(
        itertools.product("MNK", repeat=len(sizes)),
        key=lambda roles: (len(set(roles)), weight(zip(sizes, roles, strict=True))),
    )
    return {size: (role,) for size, role in zip(sizes, roles, strict=True)}
