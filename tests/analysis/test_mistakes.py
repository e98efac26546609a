"""From observations that are made up to words: which barrier, which element, and a cure if one follows."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import get_args

import pytest

from cudamm.analysis.array_elements import declared_extents
from cudamm.analysis.mistakes import Kind, Mistake, advice_of, errors_of, merged
from cudamm.compile.program import Program, program
from cudamm.devices.observation import Access, Fault, Observation, Request, SharedArray
from cudamm.execution.case import Verdict
from cudamm.kernels.header import read_method
from cudamm.kernels.launch_plan import Launch, plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Shape
from cudamm.kernels.variant import variants

SOURCE = """\
// Tiles.
//
// param:   EDGE = 4 in 4, 8
// threads: EDGE, EDGE
// grid:    ceil(N / EDGE), ceil(M / EDGE)

__global__ void tiles(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[EDGE][EDGE + 1];
    int k = 0;
    As[threadIdx.y][threadIdx.x] = A[0];  // line 10
    {barrier}
    C[0] = As[0][k];  // line 12
}
"""


@pytest.fixture
def made(tmp_path: Path):
    """A program and its launch on 5 x 6 x 7, with line 11 as given."""

    def make(barrier: str = "", edge: int = 4, source: str = SOURCE) -> tuple[Program, Launch]:
        path = tmp_path / "tiles.cu"
        path.write_text(source.replace("{barrier}", barrier))
        (variant,) = variants(read_method(path), {"EDGE": (edge,)})
        element = ELEMENT_TYPES["float32"]
        return program(variant, element, True), plan(variant, Shape(5, 6, 7), element)

    return make


def seen(*faults: Fault, accesses: tuple[Access, ...] = (), ended: str = "") -> Observation:
    return Observation(accesses, (0,), (1, 1), (), faults, (SharedArray("As", 4 * 5 * 4),), ended)


def errors(
    made, observation: Observation, verdict: Verdict | None = None, barrier: str = ""
) -> list[Mistake]:
    return errors_of(observation, verdict, *made(barrier), "5x6x7")


RACE = Fault(
    "race", 12, "load", "shared", (0, 1, 0), (1, 0, 0), "As", 24, 4, 9,
    10, "store", (0, 1, 0), (0, 1, 0),
)  # fmt: skip


def test_no_barrier_between_write_and_read_is_the_first_missing(made):
    (found,) = errors(made, seen(RACE))
    assert found.kind == "race" and found.severity == "error"
    assert found.message.startswith(
        "thread (0,1) of block (0,1) writes As[1][1] in line 10 and thread (1,0) reads it in line 12, "
        "with no barrier between them: the barrier after writing is missing"
    )
    assert found.cure == "put __syncthreads() between line 10, which writes, and line 12, which reads"
    assert (found.line, found.other_line, found.text) == (12, 10, "C[0] = As[0][k];  // line 12")
    assert (found.array, found.element, found.count, found.sizes) == ("As", "As[1][1]", 9, ("5x6x7",))
    assert [(t.op, t.line, t.thread) for t in found.threads] == [
        ("store", 10, (0, 1, 0)),
        ("load", 12, (1, 0, 0)),
    ]


def test_a_barrier_between_them_means_that_the_second_is_missing(made):
    (found,) = errors(made, seen(RACE), barrier="__syncthreads();")
    assert "the barrier after reading is missing" in found.message
    assert "after line 12" in found.cure and "before line 10" in found.cure


def test_a_barrier_in_a_comment_is_none(made):
    (found,) = errors(made, seen(RACE), barrier="// __syncthreads();")
    assert "after writing" in found.message


def test_the_order_in_which_the_device_names_them_does_not_matter(made):
    swapped = dataclasses.replace(
        RACE, line=10, op="store", thread=(0, 1, 0), other_line=12, other_op="load", other_thread=(1, 0, 0)
    )
    assert errors(made, seen(swapped)) == errors(made, seen(RACE))
    assert len(merged([*errors(made, seen(swapped)), *errors(made, seen(RACE))])) == 1


def test_two_writers_and_two_blocks(made):
    both = dataclasses.replace(RACE, line=10, op="store")
    (found,) = errors(made, seen(both))
    assert "threads (0,1) and (1,0) of block (0,1) both write As[1][1] in line 10" in found.message.replace(
        "(1,0) and (0,1)", "(0,1) and (1,0)"
    )
    apart = dataclasses.replace(
        both, space="global", array="C", other_block=(1, 0, 0), offset_bytes=28, other_op="load"
    )
    (found,) = errors(made, seen(apart))
    assert "C[1][1]" in found.message and "nothing orders different blocks" in found.message
    assert "of block (0,1)" in found.message and "of block (1,0)" in found.message
    assert "atomicAdd" in found.cure


@pytest.mark.parametrize(
    ("array", "space", "offset", "size", "words"),
    [
        ("A", "global", 5 * 7 * 4, 4, ["A[5][0]", "element 35", "A has 5 x 7 elements"]),
        ("B", "global", 4 * (7 * 6 + 8), 4, ["B[8][2]", "B has 7 x 6"]),
        ("C", "global", -8, 4, ["C[-2]", "2 elements before its start"]),
        ("As", "shared", 80, 4, ["As[4][0]", "As has 4 x 5"]),
        ("A", "global", 136, 16, ["A[4][6] to A[5][2]", "element 37"]),
    ],
)
def test_an_element_out_of_bounds_is_where_it_would_be(made, array, space, offset, size, words):
    fault = Fault("out-of-bounds", 12, "load", space, (0, 0, 0), (3, 0, 0), array, offset, size)
    (found,) = errors(made, seen(fault))
    missing = [word for word in words if word not in found.message]
    assert not missing, found.message
    assert found.message.startswith("thread (3,0) of block (0,0) reads ")


def test_a_matrix_can_be_padded_and_an_index_into_a_tile_has_many_causes(made):
    beside = Fault("out-of-bounds", 12, "store", "global", array="C", offset_bytes=120)
    (found,) = errors(made, seen(beside))
    assert "within the matrix" in found.cure and "padded" in found.cure
    (found,) = errors(made, seen(dataclasses.replace(beside, space="shared", array="As")))
    assert found.cure == ""


def test_a_read_of_what_was_never_written_and_of_what_is_written_too_late(made):
    unwritten = Fault("uninitialised", 12, "load", "shared", array="As", offset_bytes=76)
    (found,) = errors(made, seen(unwritten))
    assert found.kind == "uninitialised" and "As[3][4]" in found.message
    assert [f.kind for f in errors(made, seen(RACE, unwritten))] == ["race"]
    elsewhere = dataclasses.replace(unwritten, line=9)
    assert {f.kind for f in errors(made, seen(RACE, elsewhere))} == {"race", "uninitialised"}


def test_a_misaligned_vector(made):
    (found,) = errors(made, seen(Fault("misaligned", 12, "load", array="A", offset_bytes=4, size_bytes=16)))
    assert "A[0][1] to A[0][4]" in found.message and "not a multiple of 16" in found.message


LEFT = (
    "block (4,0): thread (6,0) left the kernel while thread (0,0) waits at the barrier in line 28 of x.cu; "
    "all threads of a block must reach it"
)
APART = (
    "block (0,0): threads wait at different barriers, thread (0,0) in line 18 of x.cu and thread (0,8) in "
    "line 21 of x.cu"
)


def test_a_barrier_that_not_all_reach(made):
    observation = seen(Fault("divergent-barrier", 28, message=LEFT), ended=LEFT)
    (found,) = errors(made, observation, Verdict(False, LEFT))
    assert found.kind == "divergent-barrier" and found.message == LEFT and "return or continue" in found.cure
    assert [(t.block, t.thread, t.line) for t in found.threads] == [
        ((4, 0, 0), (6, 0, 0), 0),
        ((4, 0, 0), (0, 0, 0), 28),
    ]
    (found,) = errors(made, seen(Fault("divergent-barrier", 18, message=APART), ended=APART))
    assert (found.line, found.other_line) == (18, 21) and "meet at one barrier" in found.cure
    assert [t.line for t in found.threads] == [18, 21]


def test_a_launch_that_ended_is_never_clean(made):
    (found,) = errors(made, seen(ended="crashed: bad memory access in thread (3,1) of block (2,0)"))
    assert found.kind == "crash" and [(t.block, t.thread) for t in found.threads] == [((2, 0, 0), (3, 1, 0))]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("400 bytes past the end of C", ["C[21][4]", "past its end", "C has 5 x 6"]),
        ("8 bytes before the start of A", ["A[-2]", "2 elements before its start"]),
    ],
)
def test_a_miss_so_far_that_it_ends_the_kernel_is_out_of_bounds(made, where, words):
    message = f"crashed: bad memory access in thread (3,1) of block (2,0): it reached {where}"
    (found,) = errors(made, seen(Fault("crash", message=message), ended=message), Verdict(False, message))
    assert found.kind == "out-of-bounds" and found.threads[0].thread == (3, 1, 0)
    assert all(word in found.message for word in ["thread (3,1) of block (2,0) reaches", *words]), found


def access(**of) -> Access:
    given = {
        "site": 0, "line": 12, "text": "", "space": "global", "op": "load", "array": "A", "size_bytes": 4,
        "requests": 10, "threads": 320, "bytes_requested": 1280, "bytes_used": 1280,
    }  # fmt: skip
    return Access(**given | of)


def test_a_wrong_product_is_told_at_the_line_that_stores_it(made):
    store = access(op="store", array="C", line=12)
    wrong = Verdict(False, "3 of 30 elements wrong, first C[0][1]: expected 1, got 2")
    (found,) = errors(made, seen(accesses=(store,)), wrong)
    assert (found.kind, found.line, found.message) == ("wrong-result", 12, wrong.reason)
    # Two stores: which of them is wrong is not known.
    (found,) = errors(made, seen(accesses=(store, access(op="store", array="C", line=10))), wrong)
    assert found.line == 0
    assert errors(made, seen(accesses=(store,)), Verdict(True)) == []


def test_a_write_beside_a_matrix_is_told_once(made):
    fault = Fault("out-of-bounds", 12, "store", "global", array="C", offset_bytes=120)
    damage = Verdict(False, "wrote past the end of C: 1 element beyond its 5 x 6")
    assert [f.kind for f in errors(made, seen(fault), damage)] == ["out-of-bounds"]
    assert [f.kind for f in errors(made, seen(), damage)] == ["wrong-result"]


def test_the_same_mistake_at_two_sizes_is_one_mistake(made):
    one, two = errors(made, seen(RACE)), errors_of(seen(RACE), None, *made(), "9x9x9")
    (found,) = merged([*one, *two])
    assert (found.count, found.sizes) == (18, ("5x6x7", "9x9x9"))


def advice(made, *accesses: Access, edge: int = 8) -> list[Mistake]:
    shared = (SharedArray("As", edge * (edge + 1) * 4),)
    observation = dataclasses.replace(seen(accesses=accesses), shared=shared)
    return advice_of(observation, *made(edge=edge), "5x6x7")


@pytest.mark.parametrize(
    ("of", "said"),
    [
        ({"sectors": 40, "ideal_sectors": 40}, None),
        ({"sectors": 50, "ideal_sectors": 40}, None),  # rows that begin amid a sector
        ({"sectors": 320, "ideal_sectors": 40}, "in 32 sectors of 32 bytes, and 4 would be enough"),
        ({"sectors": 320, "ideal_sectors": 40, "op": "store", "array": "C"}, "a warp stores C in 32 sectors"),
        # Two rows of a block, an element each: nothing to gain.
        ({"sectors": 20, "ideal_sectors": 10, "bytes_used": 80}, None),
        ({"sectors": 10, "ideal_sectors": 10, "bytes_used": 40, "broadcasts": 10}, None),
    ],
)
def test_uncoalesced_is_what_touches_twice_the_sectors(made, of, said):
    found = advice(made, access(**of))
    assert [f.kind for f in found] == (["uncoalesced"] if said else [])
    assert not said or said in found[0].message
    assert all(f.severity == "advice" for f in found)


@pytest.mark.parametrize(
    ("offsets", "words", "cure"),
    [
        ({0: 0, 1: 28}, ": neighbouring threads are 28 bytes apart", "neighbouring elements of a row"),
        ({0: 0, 1: 0}, ": neighbouring threads share an element", ""),
        ({0: 0, 1: 4}, ": a row of the block is only 4 threads wide", "8 threads in x fill a sector"),
        ({0: 4}, "would be enough", "neighbouring elements of a row"),
    ],
)
def test_the_cure_depends_on_how_far_neighbours_are_apart(made, offsets, words, cure):
    spread = access(sectors=320, ideal_sectors=40)
    observation = dataclasses.replace(seen(accesses=(spread,)), requests=(Request(0, 0, offsets),))
    found = advice_of(observation, *made(), "5x6x7")[-1]
    assert found.message.endswith(words) and cure in found.cure and bool(cure) is bool(found.cure)


@pytest.mark.parametrize(
    ("wavefronts", "ideal", "said"),
    [
        (10, 10, None),
        (320, 10, "32-way"),
        (20, 10, "2-way"),
        (14, 10, None),
        (25, 10, "2.5-way"),
        (20, 20, None),
    ],
)
def test_a_bank_conflict_is_wavefronts_over_ideal(made, wavefronts, ideal, said):
    shared = access(space="shared", array="As", wavefronts=wavefronts, ideal_wavefronts=ideal,
                    wide_wavefronts=wavefronts, wide_ideal_wavefronts=ideal)  # fmt: skip
    found = advice(made, shared)
    assert [f.kind for f in found] == (["bank-conflict"] if said else [])
    if said:
        assert said in found[0].message


@pytest.mark.parametrize(
    ("offsets", "cure"),
    [
        ({0: 0, 1: 36}, "make the rows of the tile one element longer, As[8][10]"),  # a row apart
        ({0: 0, 1: 72}, "make the rows of the tile one element longer, As[8][10]"),
        ({0: 0, 1: 8}, ""),
        ({0: 0, 1: 0}, ""),
        ({0: 0}, ""),
    ],
)
def test_longer_rows_cure_a_conflict_of_threads_in_one_column(made, offsets, cure):
    shared = access(space="shared", array="As", wavefronts=320, ideal_wavefronts=10)
    observation = dataclasses.replace(
        seen(accesses=(shared,)),
        requests=(Request(0, 0, offsets),),
        shared=(SharedArray("As", 8 * 9 * 4),),
    )
    (found,) = advice_of(observation, *made(edge=8), "5x6x7")
    assert found.cure == cure and ("one column" in found.message) is bool(cure)


def test_a_block_that_fills_no_warp(made):
    (found,) = advice(made, edge=4)
    assert found.kind == "partial-warp" and "16 of the 32 lanes" in found.message
    assert (found.line, found.text) == (4, "// threads: EDGE, EDGE")
    assert advice(made, edge=8) == []


def test_each_kind_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "check.md").read_text()
    assert [kind for kind in get_args(Kind) if f"| `{kind}` |" not in text] == []


@pytest.mark.parametrize(
    ("text", "name", "extents"),
    [
        ("__shared__ float s[32];", "s", (32,)),
        ("#define T 16\n__shared__ float a[T][T + 1], b[T][2 * T];", "b", (16, 32)),
        ("#define T 16\n#define U (T * 2)\n__shared__ int a[U / 4][3][5];", "a", (8, 3, 5)),
        ("// __shared__ float s[9];\n__shared__ float s[3];", "s", (3,)),
        ("extern __shared__ float s[];", "s", ()),
        ("__shared__ float s[sizeof(int)];", "s", ()),
        ("__shared__ float other[4];", "s", ()),
        ("__shared__ float s[f(2)];", "s", ()),
    ],
)
def test_extents_as_a_declaration_has_them(text, name, extents):
    assert declared_extents(text, name) == extents
