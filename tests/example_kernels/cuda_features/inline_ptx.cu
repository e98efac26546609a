// Which instructions of inline PTX work; CHECK writes 1 to the row of C with its line number.
//
// types:   int32
// args:    C
// threads: 64
// grid:    1

#include <cstdint>

#define CHECK(value, expected)                                                            \
    do {                                                                                  \
        C[64 * __LINE__ + t] = (long long)(value) == (long long)(expected) ? 1 : 2;       \
        __syncthreads();                                                                  \
    } while (0)
// An instruction in a macro, as headers of kernels have them.
#define LOAD_SHARED_128(a, b, c, d, address)                    \
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];\n\t" \
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d)           \
                 : "l"(address))
#define SUFFIX ".L2::128B"

__device__ int A[64];

__device__ __forceinline__ uint32_t shared_address(const void *p) {
    uint32_t address;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }" : "=r"(address) : "l"(p));
    return address;
}

template <int N>
__device__ void wait_for_all_but() {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(N));
}

__global__ void inline_ptx(int *C) {
    const int t = threadIdx.x, lane = t % 32;
    __shared__ float s[64];
    __shared__ alignas(16) float quads[256];
    __shared__ alignas(16) int to[256];
    __shared__ signed char bytes[64];
    A[t] = t + 1;
    s[t] = t;
    bytes[t] = -5;
    __syncthreads();
    int x = 0, y = 0, z = 0, w = 0;
    float f = 0;
    long long wide;

    // feature: Inline PTX: `ld` and `st` in all state spaces, with cache hints and vectors
    asm volatile("ld.global.s32 %0, [%1];" : "=r"(x) : "l"(A + t));
    CHECK(x, t + 1);
    asm volatile("ld.global.nc.L1::no_allocate" SUFFIX ".b32 %0, [%1+4];" : "=r"(x) : "l"(A + t / 2));
    CHECK(x, t / 2 + 2);
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(A + t / 4 * 4));
    CHECK(x + 100 * y + 10000 * z + 1000000 * w, t / 4 * 4 * 1010101 + 1 + 200 + 30000 + 4000000);
    asm volatile("st.shared.f32 [%0], %1;" : : "r"(shared_address(s + t)), "f"(2.0f * t));
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(f) : "r"(shared_address(s + t)));
    CHECK(f, 2 * t);
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %2, %1};" : : "r"(shared_address(quads + 4 * t)), "f"(1.0f), "f"(f));
    float a, b, c, d;
    LOAD_SHARED_128(a, b, c, d, __cvta_generic_to_shared(quads) + 16 * t);
    CHECK(a + b + c + d, 2 + 4 * t);
    asm volatile("st.global.wt.u32 [%0], %1;" : : "l"(A + t), "r"(t + 1) : "memory");
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(x) : "l"(A + t));
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(y) : "l"(A + t));
    CHECK(x + y, 2 * t + 2);
    asm("ld.shared.s8 %0, [%1];" : "=r"(x) : "r"(shared_address(bytes + t)));
    asm("ld.shared.u8 %0, [%1];" : "=r"(y) : "r"(shared_address(bytes + t)));
    CHECK(x + 1000 * y, -5 + 251000);

    // feature: Inline PTX: arithmetic, `fma`, `mad`, `mul.wide`, `cvt`, shifts, `prmt`, `bfe`, `lop3`
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(2.0f), "f"(3.0f), "f"((float)t));
    CHECK(f, 6 + t);
    asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(x) : "r"(t), "r"(3), "r"(4));
    CHECK(x, 3 * t + 4);
    asm("mul.wide.s32 %0, %1, %2;" : "=l"(wide) : "r"(-(1 << 30)), "r"(8));
    CHECK(wide, -8ll << 30);
    asm("{ .reg .f64 d; cvt.rn.f64.s32 d, %1; mul.f64 d, d, 0d3FE0000000000000; cvt.rzi.s32.f64 %0, d; }" : "=r"(x) : "r"(t));
    CHECK(x, t / 2);
    asm("shl.b32 %0, %1, 3; add.s32 %0, %0, 1; sub.s32 %0, %0, 2;" : "=r"(x) : "r"(t));
    CHECK(x, 8 * t - 1);
    asm("shr.s32 %0, %1, 40;" : "=r"(x) : "r"(-8));
    CHECK(x, -1);
    asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(x) : "r"(0x00020001), "r"(0x00040003));
    CHECK(x, 0x00030001);
    asm("bfe.u32 %0, %1, 4, 8;" : "=r"(x) : "r"(0xabcde));
    CHECK(x, 0xcd);
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(x) : "r"(12), "r"(10), "r"(t));
    CHECK(x, 12 ^ 10 ^ t);
    asm("max.f32 %0, %1, 0f40400000;" : "=f"(f) : "f"((float)t));
    CHECK(f, t > 3 ? t : 3);
    asm("rcp.approx.ftz.f32 %0, %1; sqrt.rn.f32 %0, %0; mul.f32 %0, %0, 0f42C80000;" : "=f"(f) : "f"(0.25f));
    CHECK(f + 0.5f, 200);
    asm("popc.b32 %0, %1; xor.b32 %0, %0, 1; min.s32 %0, %0, 4;" : "=r"(x) : "r"(7));
    CHECK(x, 2);
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(x) : "r"(0x01020304), "r"(0x01010101), "r"(5));
    CHECK(x, 15);
    asm("mov.b64 %0, {%1, %2};" : "=l"(wide) : "r"(t), "r"(1));
    asm("mov.b64 {%0, %1}, %2;" : "=r"(x), "=r"(y) : "l"(wide));
    CHECK(x + 100 * y, t + 100);
    x = t;
    asm("add.s32 %0, %0, 5;" : "+r"(x));
    CHECK(x, t + 5);

    // feature: Inline PTX: `setp`, `selp`, predicates, labels and `bra`, registers in braces
    asm volatile(
        "{\n\t"
        ".reg .pred p;\n\t"
        "setp.lt.s32 p, %1, 10;\n\t"
        "@p mov.s32 %0, 1;\n\t"
        "@!p mov.s32 %0, 2;\n\t"
        "}\n"
        : "=r"(x)
        : "r"(t));
    CHECK(x, t < 10 ? 1 : 2);
    asm("{.reg .pred p, q; setp.ge.s32 p, %1, 8; setp.lt.and.s32 p|q, %1, 16, p; selp.b32 %0, 1, 2, p; @q add.s32 %0, %0, 10; }" : "=r"(x) : "r"(t));
    CHECK(x, t < 8 ? 2 : t < 16 ? 1 : 12);
    asm("{.reg .pred p; setp.gtu.f32 p, %1, 0f41A00000; selp.b32 %0, 5, 6, p; }" : "=r"(x) : "f"((float)t));
    CHECK(x, t > 20 ? 5 : 6);
    for (int i = 1; i < 3; ++i) {
        asm("{ .reg .pred p; .reg .s32 r<2>; mov.s32 r0, 0; mov.s32 r1, %1; LOOP: add.s32 r0, r0, r1;"
            " sub.s32 r1, r1, 1; setp.gt.s32 p, r1, 0; @p bra LOOP; mov.s32 %0, r0; }" : "=r"(x) : "r"(i * (lane + 1)));
    }
    CHECK(x, 2 * (lane + 1) * (2 * lane + 3) / 2);
    asm("{ // a comment\n .reg .s32 t1; /* another */ add.s32 t1, %1, %1; mov.s32 %0, t1; }" : "=r"(x) : "r"(t));
    CHECK(x, 2 * t);

    // feature: Inline PTX: `mov` of special registers (`%tid.x`, `%laneid`, `%warpid`, `%clock`, `%globaltimer`, …)
    asm("mov.u32 %0, %%tid.x; mov.u32 %1, %%ntid.x; mov.u32 %2, %%laneid;" : "=r"(x), "=r"(y), "=r"(z));
    CHECK(x + 100 * y + 10000 * z, t + 6400 + 10000 * lane);
    asm("mov.u32 %0, %%lanemask_lt; mov.u32 %1, %%nctaid.y;" : "=r"(x), "=r"(y));
    CHECK((unsigned)x, (1u << lane) - 1);
    asm volatile("mov.u64 %0, %%globaltimer; mov.u32 %1, %%clock;" : "=l"(wide), "=r"(x));
    CHECK(wide > 0 && y == 1, 1);

    // feature: Inline PTX: `cp.async` with `commit_group`, `wait_group`, `wait_all`, sizes and a source size
    asm volatile("cp.async.cg.shared.global" SUFFIX " [%0], [%1], %2;" : : "r"(shared_address(to + 4 * t)), "l"(A + t / 4 * 4), "n"(16));
    asm volatile("cp.async.commit_group;\n" ::);
    wait_for_all_but<0>();
    CHECK(to[4 * t] + 100 * to[4 * t + 3], t / 4 * 4 * 101 + 401);
    asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], 4;"
                 " @!p st.shared.u32 [%0], 7;}" : : "r"(shared_address(to + t)), "l"(A + t), "r"(t % 2));
    asm volatile("cp.async.wait_all;");
    CHECK(to[t], t % 2 ? t + 1 : 7);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" : : "r"(shared_address(to + t)), "l"(A + t), "r"(t % 2 ? 4 : 0));
    asm volatile("cp.async.wait_all;");
    CHECK(to[t], t % 2 ? t + 1 : 0);

    // feature: Inline PTX: `bar.sync`, `bar.arrive`, `bar.red`, `bar.warp.sync`, `membar`, `fence`
    s[t] = t;
    asm volatile("bar.sync 0;" ::: "memory");
    CHECK(s[63 - t], 63 - t);
    s[t] = 3 * t;
    asm volatile("membar.cta; bar.sync %0, %1; fence.acq_rel.gpu;" : : "r"(1 + t / 32), "r"(32));
    CHECK(s[t ^ 1], 3 * (t ^ 1));
    if (t < 32) {
        s[t] = 9;
        asm volatile("bar.arrive 3, 64;");
    } else {
        asm volatile("bar.sync 3, 64;");
        x = (int)s[t - 32];
    }
    CHECK(t < 32 ? 9 : x, 9);
    s[t] = 1 + t;
    asm volatile("bar.warp.sync 0xffffffff;");
    CHECK(s[t ^ 1], (t ^ 1) + 1);
    asm volatile("{.reg .pred p; setp.lt.s32 p, %1, 5; bar.red.popc.u32 %0, 0, p;}" : "=r"(x) : "r"(t));
    CHECK(x, 5);

    // feature: Inline PTX: `shfl.sync`, `vote.sync`, `match.any.sync`, `redux.sync`, `activemask`
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(x) : "r"(t));
    CHECK(x, t ^ 1);
    asm volatile("{.reg .pred p; shfl.sync.down.b32 %0|p, %1, 4, 0x1f, 0xffffffff; @!p mov.b32 %0, 0;}" : "=r"(x) : "r"(t));
    CHECK(x, lane < 28 ? t + 4 : 0);
    asm volatile("shfl.sync.idx.b32 %0, %1, 2, 0x181f, 0xffffffff;" : "=r"(x) : "r"(t));
    CHECK(x, t / 8 * 8 + 2);
    asm volatile("shfl.sync.up.b32 %0, %1, 1, 0, 0xffffffff;" : "=r"(x) : "r"(t));
    CHECK(x, lane ? t - 1 : t);
    asm volatile("{.reg .pred p; setp.lt.s32 p, %1, 4; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(x) : "r"(lane));
    CHECK(x, 15);
    asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(x) : "r"(lane));
    CHECK(x, 496);
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(x) : "r"(lane % 16));
    CHECK((unsigned)x, 0x10001u << lane % 16);
    asm volatile("activemask.b32 %0;" : "=r"(x));
    CHECK(x, -1);

    // feature: Inline PTX: `atom` and `red`
    __shared__ int n;
    if (t == 0) n = 0;
    __syncthreads();
    asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(x) : "r"(shared_address(&n)) : "memory");
    __syncthreads();
    CHECK(n == 64 && x < 64, 1);
    asm volatile("red.global.add.s32 [%0], %1;" : : "l"(A), "r"(1) : "memory");
    __syncthreads();
    CHECK(*(volatile int *)A, 65);
    asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(x) : "l"(A + t), "r"(t + 1), "r"(7) : "memory");
    CHECK(A[t], t == 0 ? 65 : 7);

    // feature: Inline PTX: hints without a result, such as `prefetch` and `createpolicy`
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("prefetch.global.L2 [%0];" : : "l"(A));
    asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(x) : "l"(A + 1), "l"(policy));
    CHECK(x, 7);
}
