// The instructions of Hopper GPUs (sm_90a) behind named functions, for the methods that use them.
//
// Three units work beside each other: the copy engine (Tensor Memory Accelerator) fills shared memory, the tensor cores
// multiply what lies there, and the threads start both and wait for them at barriers in shared memory. barriers.cuh has
// the barriers, and the copy into shared memory.

#pragma once
#include "barriers.cuh"
#include "previous_kernel.cuh"
#include "tensor_cores.cuh"

// ---- The copy engine and device memory ------------------------------------------------------------------------------

// As `proxy_fence`, for device memory too: it stands between what threads write there and what the copy engine reads.
__device__ __forceinline__ void proxy_fence_everywhere() { asm volatile("fence.proxy.async;" : : : "memory"); }

// The other direction of `copy_box`: start the copy of a box from shared memory to the matrix. Nothing is written
// beyond the matrix. `stores_commit` makes a group of the copies that this thread has started. `stores_wait` waits
// until the engine has read the boxes of this thread's groups, but for the last PENDING ones, so that other data may
// overwrite them.
__device__ __forceinline__ void store_box(const CUtensorMap *map, int row, int column, const void *source) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                 : : "l"(map), "r"(column), "r"(row), "r"(shared_address(source)) : "memory");
}
__device__ __forceinline__ void stores_commit() { asm volatile("cp.async.bulk.commit_group;" : : : "memory"); }
template <int PENDING = 0>
__device__ __forceinline__ void stores_wait() {
    asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(PENDING) : "memory");
}

// ---- Tensor cores -------------------------------------------------------------------------------------------------

// Describes a tile in shared memory to the tensor cores. The tile's rows have 128 bytes, and are swizzled as the copy
// engine stores them: a row's piece c of 16 bytes lies at position c ^ (row % 8). This order repeats after a *group* of
// 8 rows. A tile with longer rows lies in *bands*: the first 128 bytes of each row, then the next 128 bytes of each
// row, and so on. Tiles, and with them groups and bands, begin at multiples of 1024 bytes.
struct TileDescriptor {
    static const unsigned long long SWIZZLE_128_BYTES = 1ull << 62;
    unsigned long long bits;

    // The bits, in units of 16 bytes: 0 to 13 are the address, 16 to 29 the distance between bands, and 32 to 45 the
    // distance between groups. A tile with a single band has 0 for `band_bytes`. Only the lower 18 bits of the address
    // count: the upper ones name a block of a cluster (see the end of this file).
    __device__ __forceinline__ TileDescriptor(const void *tile, int group_bytes, int band_bytes)
        : bits(SWIZZLE_128_BYTES | (unsigned long long)(group_bytes / 16) << 32 |
               (unsigned long long)(band_bytes / 16) << 16 | (shared_address(tile) & 0x3ffff) / 16) {}

    // Return the descriptor of the part of the tile that begins this number of bytes further on: at another row, or at
    // another piece of the first row.
    __device__ __forceinline__ TileDescriptor operator+(int bytes) const {
        TileDescriptor part = *this;
        part.bits += bytes / 16;
        return part;
    }
};

// The multiplications run asynchronously: the instruction only starts them. `multiply_fence` comes before the first one
// after other instructions have read or written the sums.
__device__ __forceinline__ void multiply_fence() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }

// Multiplies a tile of A (64 x 16) by a tile of B (16 x 2 COUNT) with a *warpgroup*, four warps, and adds the product
// to the sums, COUNT in each thread. In A's tile a row runs along k; in B's tile a row runs along n.
// Lane i of warp w holds sums of rows 16 w + i / 4 and 16 w + i / 4 + 8: for every 8 columns four, those of columns
// 2 (i % 4) and 2 (i % 4) + 1, first of the upper row, then of the lower one.
template <typename Factor, int COUNT>
__device__ __forceinline__ void multiply_add(float (&sums)[COUNT], TileDescriptor a, TileDescriptor b);

// Makes a group of the multiplications that the warpgroup has started.
__device__ __forceinline__ void multiply_commit() { asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory"); }

// Waits until at most the last PENDING groups of multiplications still run.
template <int PENDING, int COUNT>
__device__ __forceinline__ void multiply_wait(float (&sums)[COUNT]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(PENDING) : "memory");
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sums[i]));  // keeps the compiler from reading them earlier
}

// The reverse of `load_matrices`: stores four matrices of 8 x 8 elements. Lane i passes the address of row i % 8 of
// matrix i / 8, and holds elements 2 (i % 4) and 2 (i % 4) + 1 of row i / 4 of each matrix.
__device__ __forceinline__ void store_matrices(void *row, unsigned part0, unsigned part1, unsigned part2,
                                               unsigned part3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 : : "r"(shared_address(row)), "r"(part0), "r"(part1), "r"(part2), "r"(part3)
                 : "memory");
}

// As `store_matrices`, for the transposes of the matrices.
__device__ __forceinline__ void store_matrices_transposed(void *row, unsigned part0, unsigned part1, unsigned part2,
                                                          unsigned part3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 : : "r"(shared_address(row)), "r"(part0), "r"(part1), "r"(part2), "r"(part3)
                 : "memory");
}

// What `asm` needs for 16, 24, 32, ... 128 sums: SUMS_ are the operands in the text of the instruction, by their
// numbers, and REGISTERS_ the list that assigns sums to these numbers. "+f" is a float that the instruction reads and
// writes.
#define SUMS_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define SUMS_16 SUMS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define SUMS_24 SUMS_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define SUMS_32 SUMS_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define SUMS_40 SUMS_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define SUMS_48 SUMS_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define SUMS_56 SUMS_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define SUMS_64 SUMS_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define SUMS_72 SUMS_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define SUMS_80 SUMS_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define SUMS_88 SUMS_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define SUMS_96 SUMS_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define SUMS_104 SUMS_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define SUMS_112 SUMS_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define SUMS_120 SUMS_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define SUMS_128 SUMS_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define REGISTERS_8_FROM(i)                                                                                          \
    "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3]), "+f"(sums[i + 4]), "+f"(sums[i + 5]),    \
        "+f"(sums[i + 6]), "+f"(sums[i + 7])
#define REGISTERS_8 REGISTERS_8_FROM(0)
#define REGISTERS_16 REGISTERS_8, REGISTERS_8_FROM(8)
#define REGISTERS_24 REGISTERS_16, REGISTERS_8_FROM(16)
#define REGISTERS_32 REGISTERS_24, REGISTERS_8_FROM(24)
#define REGISTERS_40 REGISTERS_32, REGISTERS_8_FROM(32)
#define REGISTERS_48 REGISTERS_40, REGISTERS_8_FROM(40)
#define REGISTERS_56 REGISTERS_48, REGISTERS_8_FROM(48)
#define REGISTERS_64 REGISTERS_56, REGISTERS_8_FROM(56)
#define REGISTERS_72 REGISTERS_64, REGISTERS_8_FROM(64)
#define REGISTERS_80 REGISTERS_72, REGISTERS_8_FROM(72)
#define REGISTERS_88 REGISTERS_80, REGISTERS_8_FROM(80)
#define REGISTERS_96 REGISTERS_88, REGISTERS_8_FROM(88)
#define REGISTERS_104 REGISTERS_96, REGISTERS_8_FROM(96)
#define REGISTERS_112 REGISTERS_104, REGISTERS_8_FROM(104)
#define REGISTERS_120 REGISTERS_112, REGISTERS_8_FROM(112)
#define REGISTERS_128 REGISTERS_120, REGISTERS_8_FROM(120)

// The last operands mean: add to the sums; do not negate the factors; and for either factor 0 if its rows in shared
// memory run along k, else 1.
#define MULTIPLY_ADD_TILES(function, Factor, name, COUNT, columns, first, second, orders)                            \
    template <>                                                                                                      \
    __device__ __forceinline__ void function<Factor, COUNT>(float (&sums)[COUNT], TileDescriptor a,                  \
                                                            TileDescriptor b) {                                      \
        asm volatile("{\n"                                                                                           \
                     ".reg .pred add;\n"                                                                             \
                     "setp.eq.b32 add, 0, 0;\n"                                                                      \
                     "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." name "." name " "                        \
                     "{" SUMS_##COUNT "}, " first ", " second ", add, 1, 1, " orders ";\n"                           \
                     "}"                                                                                             \
                     : REGISTERS_##COUNT : "l"(a.bits), "l"(b.bits));                                                \
    }
#define MULTIPLY_ADD_TILES_OF_EVERY_SIZE(Factor, name)                                                               \
    MULTIPLY_ADD_TILES(multiply_add, Factor, name, 32, "64", "%32", "%33", "0, 1")                                   \
    MULTIPLY_ADD_TILES(multiply_add, Factor, name, 64, "128", "%64", "%65", "0, 1")                                  \
    MULTIPLY_ADD_TILES(multiply_add, Factor, name, 96, "192", "%96", "%97", "0, 1")                                  \
    MULTIPLY_ADD_TILES(multiply_add, Factor, name, 128, "256", "%128", "%129", "0, 1")

MULTIPLY_ADD_TILES_OF_EVERY_SIZE(__half, "f16")
MULTIPLY_ADD_TILES_OF_EVERY_SIZE(__nv_bfloat16, "bf16")

// As `multiply_add`, but with the roles exchanged: multiplies the transpose of a tile of B (16 x 64) by that of a tile
// of A (2 COUNT x 16), so the sums are those of the transpose of C's tile. The number of rows of A's tile is a multiple
// of 16, from 32 to 256.
template <typename Factor, int COUNT>
__device__ __forceinline__ void multiply_add_transposed(float (&sums)[COUNT], TileDescriptor b, TileDescriptor a);

#define MULTIPLY_ADD_TRANSPOSED(Factor, name)                                                                        \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 16, "32", "%16", "%17", "1, 0")                        \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 24, "48", "%24", "%25", "1, 0")                        \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 32, "64", "%32", "%33", "1, 0")                        \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 40, "80", "%40", "%41", "1, 0")                        \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 48, "96", "%48", "%49", "1, 0")                        \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 56, "112", "%56", "%57", "1, 0")                       \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 64, "128", "%64", "%65", "1, 0")                       \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 72, "144", "%72", "%73", "1, 0")                       \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 80, "160", "%80", "%81", "1, 0")                       \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 88, "176", "%88", "%89", "1, 0")                       \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 96, "192", "%96", "%97", "1, 0")                       \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 104, "208", "%104", "%105", "1, 0")                    \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 112, "224", "%112", "%113", "1, 0")                    \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 120, "240", "%120", "%121", "1, 0")                    \
    MULTIPLY_ADD_TILES(multiply_add_transposed, Factor, name, 128, "256", "%128", "%129", "1, 0")
MULTIPLY_ADD_TRANSPOSED(__half, "f16")
MULTIPLY_ADD_TRANSPOSED(__nv_bfloat16, "bf16")

// As `multiply_add`, for matrices of float, whose elements are cut to tf32: a tile of 64 x 8 by one of 8 x 2 COUNT. The
// first one is in registers: lane i of warp w has four elements, those of rows 16 w + i / 4 and 16 w + i / 4 + 8, first
// of column i % 4, then of column i % 4 + 4. The second one is in shared memory, and its rows must run along k: it is
// described as A's tile is for 16-bit elements. Until the multiplication has ended, nothing may write into the
// registers.
template <int COUNT>
__device__ __forceinline__ void multiply_add(float (&sums)[COUNT], const unsigned (&a)[4], TileDescriptor b);

#define MULTIPLY_ADD_REGISTERS(COUNT, columns, a0, a1, a2, a3, operand_b)                                            \
    template <>                                                                                                      \
    __device__ __forceinline__ void multiply_add<COUNT>(float (&sums)[COUNT], const unsigned (&a)[4],                \
                                                        TileDescriptor b) {                                          \
        asm volatile("{\n"                                                                                           \
                     ".reg .pred add;\n"                                                                             \
                     "setp.eq.b32 add, 0, 0;\n"                                                                      \
                     "wgmma.mma_async.sync.aligned.m64n" columns "k8.f32.tf32.tf32 "                                 \
                     "{" SUMS_##COUNT "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " operand_b ", add, 1, 1;\n"             \
                     "}"                                                                                             \
                     : REGISTERS_##COUNT : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits));                 \
    }
MULTIPLY_ADD_REGISTERS(32, "64", "%32", "%33", "%34", "%35", "%36")
MULTIPLY_ADD_REGISTERS(64, "128", "%64", "%65", "%66", "%67", "%68")
MULTIPLY_ADD_REGISTERS(96, "192", "%96", "%97", "%98", "%99", "%100")
MULTIPLY_ADD_REGISTERS(128, "256", "%128", "%129", "%130", "%131", "%132")

// Multiplies a tile of A (64 x 32) by a tile of B (32 x 2 COUNT) of 8-bit elements, float8_e4m3. The product is added
// to the sums (`add`), or replaces them: then they need no zeros before. The rows of both tiles must run along k, so
// both are described as A's tile is for 16-bit elements: B's has a row of 128 bytes for each column of the
// product. The tensor cores keep 14 bits of these sums, so sums of many products belong elsewhere.
template <int COUNT>
__device__ __forceinline__ void multiply_8_bit(float (&sums)[COUNT], TileDescriptor a, TileDescriptor b, bool add);

#define MULTIPLY_8_BIT(COUNT, columns, operand_a, operand_b, operand_add)                                            \
    template <>                                                                                                      \
    __device__ __forceinline__ void multiply_8_bit<COUNT>(float (&sums)[COUNT], TileDescriptor a, TileDescriptor b,  \
                                                          bool add) {                                                \
        asm volatile("{\n"                                                                                           \
                     ".reg .pred add;\n"                                                                             \
                     "setp.ne.b32 add, " operand_add ", 0;\n"                                                        \
                     "wgmma.mma_async.sync.aligned.m64n" columns "k32.f32.e4m3.e4m3 "                                \
                     "{" SUMS_##COUNT "}, " operand_a ", " operand_b ", add, 1, 1;\n"                                \
                     "}"                                                                                             \
                     : REGISTERS_##COUNT : "l"(a.bits), "l"(b.bits), "r"((int)add));                                 \
    }
MULTIPLY_8_BIT(32, "64", "%32", "%33", "%34")
MULTIPLY_8_BIT(64, "128", "%64", "%65", "%66")
MULTIPLY_8_BIT(96, "192", "%96", "%97", "%98")

// ---- What the methods share -----------------------------------------------------------------------------------------

// The tiles of A and B have rows of 64 elements, 128 bytes: A's tile is BK deep, and B's tile consists of bands of 64
// columns, each a box. A tile of C in shared memory consists of boxes of 64 x 64.
const int BK = 64, ROW_BYTES = 128, GROUP_BYTES = 8 * ROW_BYTES;
const int BAND_BYTES = BK * ROW_BYTES, BOX_BYTES = 64 * ROW_BYTES;

// Starts the multiplications of 64 rows of A's tile by B's tile, for BK values of k, as a group.
template <typename Factor, int COUNT>
__device__ __forceinline__ void multiply_add_tiles(float (&sums)[COUNT], TileDescriptor a, TileDescriptor b) {
    multiply_fence();
#pragma unroll
    for (int k = 0; k < BK; k += 16)  // 16 elements further along A's rows, 16 rows further down in B's bands
        multiply_add<Factor>(sums, a + k * (int)sizeof(Factor), b + k * ROW_BYTES);
    multiply_commit();
}

// A position in a ring of LENGTH stages: its stage, and the parity of the phase in which the stage is filled.
template <int LENGTH>
struct RingPosition {
    int stage = 0, parity = 0;

    __device__ __forceinline__ void next() {
        if (++stage == LENGTH) stage = 0, parity ^= 1;
    }
};

// Makes the barriers of a ring ready. Those of `full` wait for one thread, which starts the copies into a stage, and
// those of `empty` for this number of arrivals. Each warp makes those of a stage ready: together they are faster than
// one warp that makes all.
template <int LENGTH>
__device__ __forceinline__ void ring_init(Barrier *full, Barrier *empty, int arrivals) {
    if (threadIdx.x % 32 == 0) {
        for (int i = threadIdx.x / 32; i < LENGTH; i += blockDim.x / 32) {
            barrier_init(&full[i], 1);
            barrier_init(&empty[i], arrivals);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");  // for the copy engine and other blocks
    }
}

// Return row (y) and column (x) of a tile of C, by its number. Tiles are numbered in strips of STRIP_ROWS rows of
// tiles, column by column within a strip. Blocks that run at the same time have neighbouring numbers, and so they read
// few rows of A and few columns of B, which then stay in the L2 cache. There is no place for a number beyond the last
// tile: what is returned then means nothing.
template <int STRIP_ROWS>
__device__ __forceinline__ int2 tile_at(int tile, int tile_rows, int tile_columns) {
    const int strip_tiles = STRIP_ROWS * tile_columns, first_row = tile / strip_tiles * STRIP_ROWS;
    const int rows = min(STRIP_ROWS, tile_rows - first_row), in_strip = tile % strip_tiles;
    return int2{in_strip / rows, first_row + in_strip % rows};
}

// Wait for the other threads of the warpgroup.
__device__ __forceinline__ void warpgroup_sync(int warpgroup) {
    asm volatile("bar.sync %0, 128;" : : "r"(1 + warpgroup) : "memory");  // barrier 0 is that of __syncthreads
}

// Stores 64 rows of C's tile, from (row, column) on, in boxes of 64 columns. The results of a box go to shared memory
// first, swizzled as the other tiles, four matrices of 8 x 8 at a time; the copy engine writes them from there, in rows
// of 128 bytes. The warpgroup has two boxes there, STORE_BYTES: it fills one while the engine reads the other. `turn`
// is the one that it fills next.
const int STORE_BYTES = 2 * BOX_BYTES;

template <typename Result, int COUNT>
__device__ __forceinline__ void store_boxes(char *boxes, int &turn, const CUtensorMap *map, int row, int column,
                                            int warpgroup, const float (&sums)[COUNT]) {
    const int thread = threadIdx.x % 128, warp = thread / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int first = 0; first < COUNT / 4; first += 8, turn ^= 1) {  // groups of 8 columns, 8 in a box
        char *const box = boxes + turn * BOX_BYTES;
        if (thread == 0) stores_wait<1>();  // the engine has read what was in the box
        warpgroup_sync(warpgroup);
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            const int box_row = warp * 16 + lane % 16, piece = (j + lane / 16) ^ box_row % 8;
            const float *const s = &sums[(first + j) * 4];
            store_matrices(box + box_row * ROW_BYTES + piece * 16, rounded_pair<Result>(s[0], s[1]),
                           rounded_pair<Result>(s[2], s[3]), rounded_pair<Result>(s[4], s[5]),
                           rounded_pair<Result>(s[6], s[7]));
        }
        proxy_fence();
        warpgroup_sync(warpgroup);
        if (thread == 0) {
            store_box(map, row, column + first * 8, box);
            stores_commit();
        }
    }
}

// Give up registers of this warpgroup, or take more for it, so that each thread has COUNT, a multiple of 8. Taking more
// waits until other warps of the block have given up enough.
template <int COUNT>
__device__ __forceinline__ void registers_decrease() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(COUNT));
}
template <int COUNT>
__device__ __forceinline__ void registers_increase() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(COUNT));
}

// ---- Clusters -------------------------------------------------------------------------------------------------------

// A *cluster* is a group of blocks that run at the same time and reach each other's shared memory.

// As `copy_box`, but the box goes to the same place in the shared memory of both blocks of a cluster, and the barrier
// at the same place in each counts its bytes.
__device__ __forceinline__ void copy_box_to_both(void *target, const CUtensorMap *map, int row, int column,
                                                 Barrier *barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;"
                 : : "r"(shared_address(target)), "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)),
                     "h"((unsigned short)3)  // a bit for each block
                 : "memory");
}

// Arrive at the barrier at the same place in the shared memory of this block of the cluster: 0 or 1. This publishes no
// writes of the thread to the other block, which would take a fence of the whole GPU.
__device__ __forceinline__ void barrier_arrive_at(Barrier *barrier, int block) {
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}"
                 : : "r"(shared_address(barrier)), "r"(block) : "memory");
}

// Return the four floats at the same place in the shared memory of this block of the cluster, by its number within it.
// The block must have started, and must not end before.
__device__ __forceinline__ float4 load_at(const float4 *source, int block) {
    float4 value;
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %4, %5;\n"
                 "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote];\n"
                 "}"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "r"(shared_address(source)), "r"(block) : "memory");
    return value;
}

// Wait for all threads of the cluster. What they wrote before, also to barriers, is visible to all afterwards.
__device__ __forceinline__ void cluster_sync() {
    asm volatile("fence.mbarrier_init.release.cluster;\n"
                 "barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" : : : "memory");
}
