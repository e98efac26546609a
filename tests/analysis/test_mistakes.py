"""Mistakes that `check` derives from made-up observations: barrier, element, message and cure."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import get_args

import pytest

from cudamm.analysis.array_elements import declared_extents
from cudamm.analysis.mistakes import Kind, Mistake, advice_of, brief, errors_of, merged, without_bounds_check
from cudamm.compile.program import Program, program
from cudamm.devices.observation import Access, Fault, Observation, Request, SharedArray
from cudamm.execution.case import ORDER_MATTERS, Verdict
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
def make_program(tmp_path: Path):
    """Return a function that makes a program with `barrier` in line 11, and its launch on 5 x 6 x 7."""

    def make(barrier: str = "", edge: int = 4, source: str = SOURCE) -> tuple[Program, Launch]:
        path = tmp_path / "tiles.cu"
        path.write_text(source.replace("{barrier}", barrier))
        (variant,) = variants(read_method(path), {"EDGE": (edge,)})
        element = ELEMENT_TYPES["float32"]
        return program(variant, element, True), plan(variant, Shape(5, 6, 7), element)

    return make


def observed(*faults: Fault, accesses: tuple[Access, ...] = (), ended: str = "") -> Observation:
    return Observation(accesses, (0,), (1, 1), (), faults, (SharedArray("As", 4 * 5 * 4),), ended)


def errors(
    make_program, observation: Observation, verdict: Verdict | None = None, barrier: str = ""
) -> list[Mistake]:
    return errors_of(observation, verdict, *make_program(barrier), "5x6x7")


RACE = Fault(
    "race", 12, "load", "shared", (0, 1, 0), (1, 0, 0), "As", 24, 4, 9,
    10, "store", (0, 1, 0), (0, 1, 0),
)  # fmt: skip


def test_a_race_without_a_barrier_lacks_the_barrier_after_writing(make_program):
    (mistake,) = errors(make_program, observed(RACE))
    assert mistake.kind == "race" and mistake.severity == "error"
    assert mistake.message.startswith(
        "thread (0,1) of block (0,1) writes As[1][1] in line 10 and thread (1,0) reads it in line 12, "
        "with no barrier between them: the barrier after writing is missing"
    )
    assert mistake.cure == "put __syncthreads() between line 10, which writes, and line 12, which reads"
    assert (mistake.line, mistake.other_line, mistake.text) == (12, 10, "C[0] = As[0][k];  // line 12")
    assert (mistake.array, mistake.element, mistake.count, mistake.sizes) == ("As", "As[1][1]", 9, ("5x6x7",))
    assert [(t.op, t.line, t.thread) for t in mistake.threads] == [
        ("store", 10, (0, 1, 0)),
        ("load", 12, (1, 0, 0)),
    ]


def test_a_race_with_a_barrier_between_lacks_the_barrier_after_reading(make_program):
    (mistake,) = errors(make_program, observed(RACE), barrier="__syncthreads();")
    assert "the barrier after reading is missing" in mistake.message
    assert "after line 12" in mistake.cure and "before line 10" in mistake.cure


def test_a_barrier_in_a_comment_does_not_count(make_program):
    (mistake,) = errors(make_program, observed(RACE), barrier="// __syncthreads();")
    assert "after writing" in mistake.message


def test_the_order_of_the_two_accesses_of_a_race_does_not_matter(make_program):
    swapped = dataclasses.replace(
        RACE, line=10, op="store", thread=(0, 1, 0), other_line=12, other_op="load", other_thread=(1, 0, 0)
    )
    assert errors(make_program, observed(swapped)) == errors(make_program, observed(RACE))
    assert len(merged([*errors(make_program, observed(swapped)), *errors(make_program, observed(RACE))])) == 1


def test_a_race_names_both_writers_or_both_blocks(make_program):
    two_writers = dataclasses.replace(RACE, line=10, op="store")
    (mistake,) = errors(make_program, observed(two_writers))
    assert "threads (0,1) and (1,0) of block (0,1) both write As[1][1] in line 10" in mistake.message.replace(
        "(1,0) and (0,1)", "(0,1) and (1,0)"
    )
    two_blocks = dataclasses.replace(
        two_writers, space="global", array="C", other_block=(1, 0, 0), offset_bytes=28, other_op="load"
    )
    (mistake,) = errors(make_program, observed(two_blocks))
    assert "C[1][1]" in mistake.message and "nothing orders different blocks" in mistake.message
    assert "of block (0,1)" in mistake.message and "of block (1,0)" in mistake.message
    assert mistake.cure == "let one thread own each element", "line 10 stores, and adds nothing"


@pytest.mark.parametrize(
    ("statement", "is_sum"),
    [
        ("C[0] += x;", True),
        ("C[0] = C[0] + x;", True),
        ("*c += x;", True),
        ("C[0] = x;", False),
        ("x += A[0]; C[0] = x;", False),
        ("C[0] = A[0] + x;", False),
    ],
)
def test_atomic_addition_is_a_cure_for_sums_only(make_program, statement, is_sum):
    fault = dataclasses.replace(RACE, line=12, space="global", array="C", other_line=12, block=(1, 0, 0))
    program, launch = make_program(source=SOURCE.replace("C[0] = As[0][k];", statement))
    (mistake,) = errors_of(observed(fault), None, program, launch, "5x6x7")
    assert ("atomicAdd" in mistake.cure) is is_sum


@pytest.mark.parametrize("barrier", ["__syncwarp();", "warp.sync();", "sync(warp);"])
def test_a_barrier_of_a_warp_is_named_in_place_of_one_of_the_block(make_program, barrier):
    source = SOURCE.replace("int k = 0;", "auto warp = cg::tiled_partition<32>(block); int k = 0;")
    program, launch = make_program(barrier, source=source)
    of_two_warps = dataclasses.replace(RACE, other_thread=(0, 32, 0))
    (mistake,) = errors_of(observed(of_two_warps), None, program, launch, "5x6x7")
    assert "in line 11, which orders the threads of one warp only, by __syncthreads()" in mistake.cure
    assert mistake.cure in brief(mistake) and mistake.needs_barrier
    (mistake,) = errors_of(observed(RACE), None, program, launch, "5x6x7")
    assert "put __syncwarp() after line 12, inside the loop, before line 10 writes again" in mistake.cure


def test_an_access_out_of_bounds_has_no_cure_before_its_cause_is_known(make_program):
    fault = Fault("out-of-bounds", 8, "store", "global", array="C", offset_bytes=120)
    (mistake,) = errors_of(observed(fault), None, *make_program(), "5x6x7")
    assert mistake.cure == ""


def test_a_product_that_depends_on_the_order_is_no_second_error_beside_its_race(make_program):
    verdict = Verdict(False, "4 of 30 elements wrong").because_of(ORDER_MATTERS)
    assert [m.kind for m in errors(make_program, observed(RACE), verdict)] == ["race"]
    assert [m.kind for m in errors(make_program, observed(), verdict)] == ["wrong-result"]


def test_a_race_on_c_is_no_second_error_beside_a_wrong_index_that_explains_it(make_program):
    fault = dataclasses.replace(RACE, space="global", array="C", block=(1, 0, 0))
    verdict = Verdict(False, "").because_of("C is written with the wrong row length")
    assert [m.kind for m in errors(make_program, observed(fault), verdict)] == ["wrong-result"]
    assert len(errors(make_program, observed(RACE), verdict)) == 2, (
        "a race in shared memory is another mistake"
    )


@pytest.mark.parametrize(
    ("array", "space", "offset", "size", "words"),
    [
        ("A", "global", 5 * 7 * 4, 4, ["A[5][0]", "element 35", "A has 5 x 7 elements"]),
        ("B", "global", 4 * (7 * 6 + 8), 4, ["B[8][2]", "B has 7 x 6"]),
        ("C", "global", -8, 4, ["C[-2]", "2 elements before its start"]),
        ("As", "shared", 80, 4, ["As[4][0]", "As has 4 x 5"]),
        ("A", "global", 136, 16, ["A[4][6] to A[5][2]", "elements 34 to 37"]),
    ],
)
def test_an_access_out_of_bounds_is_reported_with_its_element(
    make_program, array, space, offset, size, words
):
    fault = Fault("out-of-bounds", 12, "load", space, (0, 0, 0), (3, 0, 0), array, offset, size)
    (mistake,) = errors(make_program, observed(fault))
    missing = [word for word in words if word not in mistake.message]
    assert not missing, mistake.message
    assert mistake.message.startswith("thread (3,0) of block (0,0) reads ")


def test_an_access_out_of_bounds_alone_does_not_show_that_a_bounds_check_is_missing(make_program):
    fault = Fault("out-of-bounds", 12, "store", "global", array="C", offset_bytes=120)
    (mistake,) = errors(make_program, observed(fault))
    assert mistake.cure == "" and "bounds check" not in brief(mistake)


def test_padding_is_a_cure_if_the_product_is_right_at_multiples(make_program):
    fault = Fault("out-of-bounds", 12, "store", "global", array="C", offset_bytes=120)
    found = errors(make_program, observed(fault))
    source, _ = make_program()
    (mistake,) = without_bounds_check(found, found, source, 16)
    assert "within the matrix" in mistake.cure and "M % 16 == 0" in mistake.cure
    assert brief(mistake).endswith("a bounds check is missing or wrong")


def test_an_uninitialised_read_that_is_part_of_a_race_is_only_a_race(make_program):
    unwritten = Fault("uninitialised", 12, "load", "shared", array="As", offset_bytes=76)
    (mistake,) = errors(make_program, observed(unwritten))
    assert mistake.kind == "uninitialised" and "As[3][4]" in mistake.message
    assert [m.kind for m in errors(make_program, observed(RACE, unwritten))] == ["race"]
    at_another_line = dataclasses.replace(unwritten, line=9)
    kinds = {m.kind for m in errors(make_program, observed(RACE, at_another_line))}
    assert kinds == {"race", "uninitialised"}


def test_a_misaligned_vector_is_reported_with_its_elements(make_program):
    fault = Fault("misaligned", 12, "load", array="A", offset_bytes=4, size_bytes=16)
    (mistake,) = errors(make_program, observed(fault))
    assert "A[0][1] to A[0][4]" in mistake.message and "not a multiple of 16" in mistake.message


THREAD_LEFT = (
    "block (4,0): thread (6,0) left the kernel while thread (0,0) waits at the barrier in line 28 of x.cu; "
    "a GPU before compute capability 7.0 may wait for it for ever, a later one goes on without it"
)
DIFFERENT_BARRIERS = (
    "block (0,0): threads wait at different barriers, thread (0,0) in line 18 of x.cu and thread (0,8) in "
    "line 21 of x.cu"
)


def test_a_divergent_barrier_is_reported_with_both_threads(make_program):
    observation = observed(Fault("divergent-barrier", 28, message=THREAD_LEFT), ended=THREAD_LEFT)
    (mistake,) = errors(make_program, observation, Verdict(False, THREAD_LEFT))
    assert (mistake.kind, mistake.message) == ("divergent-barrier", THREAD_LEFT)
    assert "return or continue" in mistake.cure
    assert [(t.block, t.thread, t.line) for t in mistake.threads] == [
        ((4, 0, 0), (6, 0, 0), 0),
        ((4, 0, 0), (0, 0, 0), 28),
    ]
    fault = Fault("divergent-barrier", 18, message=DIFFERENT_BARRIERS)
    (mistake,) = errors(make_program, observed(fault, ended=DIFFERENT_BARRIERS))
    assert (mistake.line, mistake.other_line) == (18, 21) and "meet at one barrier" in mistake.cure
    assert [t.line for t in mistake.threads] == [18, 21]


def test_a_launch_that_crashed_is_a_mistake(make_program):
    message = "crashed: bad memory access in thread (3,1) of block (2,0)"
    (mistake,) = errors(make_program, observed(ended=message))
    assert mistake.kind == "crash"
    assert [(t.block, t.thread) for t in mistake.threads] == [((2, 0, 0), (3, 1, 0))]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("400 bytes past the end of C", ["C[21][4]", "past its end", "C has 5 x 6"]),
        ("8 bytes before the start of A", ["A[-2]", "2 elements before its start"]),
    ],
)
def test_a_crash_with_a_known_place_is_an_access_out_of_bounds(make_program, place, words):
    message = f"crashed: bad memory access in thread (3,1) of block (2,0): it reached {place}"
    observation = observed(Fault("crash", message=message), ended=message)
    (mistake,) = errors(make_program, observation, Verdict(False, message))
    assert mistake.kind == "out-of-bounds" and mistake.threads[0].thread == (3, 1, 0)
    assert all(word in mistake.message for word in ["thread (3,1) of block (2,0) reaches", *words]), mistake


def access(**changes) -> Access:
    fields = {
        "site": 0, "line": 12, "text": "", "space": "global", "op": "load", "array": "A", "size_bytes": 4,
        "requests": 10, "threads": 320, "bytes_requested": 1280, "bytes_used": 1280,
    }  # fmt: skip
    return Access(**fields | changes)


def test_a_wrong_product_is_reported_at_the_only_line_that_stores_it(make_program):
    store = access(op="store", array="C", line=12)
    wrong = Verdict(False, "3 of 30 elements wrong, first C[0][1]: expected 1, got 2")
    (mistake,) = errors(make_program, observed(accesses=(store,)), wrong)
    assert (mistake.kind, mistake.line, mistake.message) == ("wrong-result", 12, wrong.reason)
    # With two stores it is not known which of them is wrong.
    another_store = access(op="store", array="C", line=10)
    (mistake,) = errors(make_program, observed(accesses=(store, another_store)), wrong)
    assert mistake.line == 0
    assert errors(make_program, observed(accesses=(store,)), Verdict(True)) == []


def test_a_write_out_of_bounds_is_reported_once(make_program):
    fault = Fault("out-of-bounds", 12, "store", "global", array="C", offset_bytes=120)
    damage = Verdict(False, "wrote past the end of C: 1 element beyond its 5 x 6")
    assert [m.kind for m in errors(make_program, observed(fault), damage)] == ["out-of-bounds"]
    assert [m.kind for m in errors(make_program, observed(), damage)] == ["wrong-result"]


def test_the_same_mistake_at_two_sizes_is_reported_once(make_program):
    one, two = errors(make_program, observed(RACE)), errors_of(observed(RACE), None, *make_program(), "9x9x9")
    (mistake,) = merged([*one, *two])
    assert (mistake.count, mistake.sizes) == (18, ("5x6x7", "9x9x9"))


def advice(make_program, *accesses: Access, edge: int = 8) -> list[Mistake]:
    shared = (SharedArray("As", edge * (edge + 1) * 4),)
    observation = dataclasses.replace(observed(accesses=accesses), shared=shared)
    return advice_of(observation, *make_program(edge=edge), "5x6x7")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sectors": 40, "ideal_sectors": 40}, None),
        ({"sectors": 50, "ideal_sectors": 40}, None),  # rows begin in the middle of a sector
        ({"sectors": 320, "ideal_sectors": 40}, "in 32 sectors of 32 bytes, and 4 would be enough"),
        ({"sectors": 320, "ideal_sectors": 40, "op": "store", "array": "C"}, "a warp stores C in 32 sectors"),
        # One element in each of two rows: coalescing cannot reduce the sectors.
        ({"sectors": 20, "ideal_sectors": 10, "bytes_used": 80}, None),
        ({"sectors": 10, "ideal_sectors": 10, "bytes_used": 40, "broadcasts": 10}, None),
    ],
)
def test_an_access_of_twice_the_ideal_sectors_is_uncoalesced(make_program, changes, message):
    mistakes = advice(make_program, access(**changes))
    assert [m.kind for m in mistakes] == (["uncoalesced"] if message else [])
    assert not message or message in mistakes[0].message
    assert all(m.severity == "advice" for m in mistakes)


@pytest.mark.parametrize(
    ("offsets", "words", "cure"),
    [
        (
            {0: 0, 1: 28},
            ": neighbouring threads are 28 bytes apart, the length of a row",
            "neighbouring elements of a row",
        ),
        ({0: 0, 1: 0}, ": neighbouring threads share an element", ""),
        ({0: 0, 1: 4}, ": a row of the block is only 4 threads wide", "8 threads in x fill a sector"),
        ({0: 4}, "would be enough", "neighbouring elements of a row"),
    ],
)
def test_the_cure_depends_on_the_distance_of_neighbouring_threads(make_program, offsets, words, cure):
    spread = access(sectors=320, ideal_sectors=40)
    observation = dataclasses.replace(observed(accesses=(spread,)), requests=(Request(0, 0, offsets),))
    mistake = advice_of(observation, *make_program(), "5x6x7")[-1]
    assert mistake.message.endswith(words) and cure in mistake.cure and bool(cure) is bool(mistake.cure)


@pytest.mark.parametrize(
    ("wavefronts", "ideal", "message"),
    [
        (10, 10, None),
        (320, 10, "32-way"),
        (20, 10, "2-way"),
        (14, 10, None),
        (25, 10, "2.5-way"),
        (20, 20, None),
    ],
)
def test_the_degree_of_a_bank_conflict_is_wavefronts_over_ideal(make_program, wavefronts, ideal, message):
    shared = access(space="shared", array="As", wavefronts=wavefronts, ideal_wavefronts=ideal,
                    wide_wavefronts=wavefronts, wide_ideal_wavefronts=ideal)  # fmt: skip
    mistakes = advice(make_program, shared)
    assert [m.kind for m in mistakes] == (["bank-conflict"] if message else [])
    if message:
        assert message in mistakes[0].message


@pytest.mark.parametrize(
    ("offsets", "is_column", "cure"),
    [
        ({0: 0, 1: 128}, True, "make the rows of the tile one element longer, As[31][33]"),  # one row apart
        ({0: 0, 1: 256}, True, "make the rows of the tile one element longer, As[31][33]"),
        # Eight rows and four columns: with one element more, rows and columns still share banks.
        (
            {lane: 128 * (lane % 8) + 4 * (lane // 8) for lane in range(32)}, True,
            "make the rows of the tile 4 elements longer, As[31][36]",
        ),
        ({0: 0, 1: 4}, False, ""),
        ({0: 0, 1: 0}, False, ""),
        ({0: 0}, False, ""),
    ],
)  # fmt: skip
def test_longer_rows_are_the_cure_if_threads_access_one_column(make_program, offsets, is_column, cure):
    shared = access(space="shared", array="As", wavefronts=320, ideal_wavefronts=10)
    observation = dataclasses.replace(
        observed(accesses=(shared,)),
        requests=(Request(0, 0, offsets),),
        shared=(SharedArray("As", 31 * 32 * 4),),
    )
    (mistake,) = [
        m for m in advice_of(observation, *make_program(edge=31), "5x6x7") if m.kind == "bank-conflict"
    ]
    assert mistake.cure == cure and ("one column" in mistake.message) is is_column


def test_a_block_smaller_than_a_warp_is_a_partial_warp(make_program):
    (mistake,) = advice(make_program, edge=4)
    assert mistake.kind == "partial-warp" and "16 of the 32 lanes" in mistake.message
    assert (mistake.line, mistake.text) == (4, "// threads: EDGE, EDGE")
    assert advice(make_program, edge=8) == []


def test_each_kind_of_mistake_is_documented():
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
def test_extents_of_an_array_are_read_from_its_declaration(text, name, extents):
    assert declared_extents(text, name) == extents


def test_races_that_one_barrier_would_end_are_one_mistake(make_program):
    other_array = dataclasses.replace(RACE, array="Bs", other_line=9)
    too_late = dataclasses.replace(RACE, array="Cs", other_line=13, line=14)
    found = merged(errors(make_program, observed(RACE, other_array, too_late)))
    assert [(m.array, m.count) for m in found] == [("As", 18), ("Cs", 9)]
    assert found[0].message.endswith("(the same holds for Bs)")
    assert found[0].cure == "put __syncthreads() between line 10, which writes, and line 12, which reads"
    assert brief(found[0]) == f"a __syncthreads() is missing in tiles.cu: {found[0].cure}"


def test_the_bank_conflicts_of_one_array_are_one_piece_of_advice(make_program):
    at_lines = [
        dataclasses.replace(
            access(space="shared", array=array, wavefronts=320, ideal_wavefronts=10, wide_wavefronts=320,
                   wide_ideal_wavefronts=10),
            line=line,
        )
        for array, line in (("As", 10), ("As", 12), ("Bs", 12), ("As", 12))
    ]  # fmt: skip
    conflicts = merged(advice(make_program, *at_lines))
    assert [(m.array, m.line) for m in conflicts] == [("As", 10), ("Bs", 12)]
    assert conflicts[0].message.endswith("(and in line 12)")


def test_lines_with_another_conflict_are_listed_with_its_own_number(make_program):
    at_lines = [
        dataclasses.replace(
            access(space="shared", array="As", wavefronts=wavefronts, ideal_wavefronts=10,
                   wide_wavefronts=wavefronts, wide_ideal_wavefronts=10),
            line=line,
        )
        for line, wavefronts in ((10, 320), (12, 80), (13, 320), (14, 80))
    ]  # fmt: skip
    (conflict,) = merged(advice(make_program, *at_lines))
    assert conflict.message.endswith(
        "a 32-way bank conflict (and in line 13, and an 8-way one in lines 12, 14)"
    )
