// What of CUDA's cooperation between threads works; CHECK writes 1 to the row of C with its line number.
//
// types:   int32
// args:    C
// threads: 64
// grid:    1

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;
using state = cuda::pipeline_shared_state<cuda::thread_scope_block, 2>;

#define CHECK(value, expected)                                                            \
    do {                                                                                  \
        C[64 * __LINE__ + t] = (long long)(value) == (long long)(expected) ? 1 : 2;       \
        __syncthreads();                                                                  \
    } while (0)

__device__ int A[64];

__global__ void threads(int *C) {
    const int t = threadIdx.x, lane = t % 32, first = t / 32 * 32;  // first: the first thread of the warp
    const unsigned all = 0xffffffffu;
    __shared__ int s[64];
    __shared__ alignas(16) int to[64];
    A[t] = t + 1;
    s[t] = t;
    __syncthreads();

    // feature: Warp votes: `__ballot_sync`, `__any_sync`, `__all_sync`
    CHECK(__ballot_sync(all, lane % 4 == 0), 0x11111111);
    CHECK((__any_sync(all, t == 40) != 0) + 2 * (__all_sync(all, t < 32) != 0), t < 32 ? 2 : 1);

    // feature: `__activemask`
    unsigned active = 0;
    if (lane % 4 == 1) active = __activemask();
    CHECK(active, lane % 4 == 1 ? 0x22222222 : 0);

    // feature: `__match_any_sync`, `__match_all_sync`
    int agree, differ;
    CHECK(__match_any_sync(all, lane % 8), 0x01010101u << lane % 8);
    CHECK((__match_all_sync(all, 5.0, &agree) == all) + 2 * agree, 3);
    CHECK(__match_all_sync(all, lane, &differ) + differ, 0);

    // feature: `__reduce_add_sync` and the other reductions
    CHECK(__reduce_add_sync(all, lane), 496);
    CHECK((int)__reduce_max_sync(all, (unsigned)t) + __reduce_min_sync(all, -t), 0);
    CHECK(__reduce_or_sync(all, 1u << lane % 4) + __reduce_and_sync(all, 6u | lane), 15 + 6);
    CHECK(__reduce_xor_sync(all, 1u << lane), 0xffffffffu);

    // feature: Shuffles of every type and width
    CHECK(__shfl_sync(all, t, 5), first + 5);
    CHECK(2 * __shfl_up_sync(all, 1.5 * t, 1), 3 * (lane ? t - 1 : t));
    CHECK(__shfl_down_sync(all, (long long)t << 33, 2, 8) >> 33, lane % 8 < 6 ? t + 2 : t);
    CHECK(__shfl_xor_sync(all, (float)t, 3), t ^ 3);
    CHECK(__shfl_sync(all, (unsigned long)t, 9, 16), t / 16 * 16 + 9);

    // feature: Barriers: `__syncthreads`, `__syncthreads_count`, `_and`, `_or`, `__syncwarp`
    CHECK(__syncthreads_count(t % 5 == 0), 13);
    CHECK(!!__syncthreads_and(t < 64) + 10 * !!__syncthreads_or(t > 64), 1);
    s[t] = 2 * t;
    __syncwarp();
    CHECK(s[t ^ 1], 2 * (t ^ 1));

    // feature: Fences: `__threadfence`, `__threadfence_block`, `__threadfence_system`
    __threadfence(), __threadfence_block(), __threadfence_system();
    CHECK(A[t], t + 1);

    // feature: `__nanosleep`, which lets other threads run
    __shared__ cuda::atomic<int, cuda::thread_scope_block> flag;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t == 63) flag = 1;
    while (!flag) __nanosleep(20);
    CHECK(flag, 1);

    // feature: Cooperative groups: `this_thread_block`, `sync`, `thread_rank`, `this_grid` without `sync`
    const auto block = cg::this_thread_block();
    s[t] = t;
    block.sync();
    cg::sync(block);
    CHECK(s[63 - block.thread_rank()] + block.size() + block.group_index().x, 127 - t);
    CHECK(cg::this_grid().thread_rank() + cg::this_grid().size(), t + 64);

    // feature: Cooperative groups: `tiled_partition` into tiles of up to 32 threads, with `shfl`, `any`, `all`, `ballot`, `match_any`, `meta_group_rank`
    const auto eight = cg::tiled_partition<8>(block);
    const cg::thread_block_tile<16> sixteen = cg::tiled_partition<16>(block);
    const auto warp = cg::tiled_partition<32>(block);
    const auto pair = cg::tiled_partition<2>(warp);
    const cg::thread_group four = cg::tiled_partition(block, 4);
    eight.sync();
    four.sync();
    CHECK(eight.shfl(t, 3) + 100 * eight.meta_group_rank(), t / 8 * 8 + 3 + 100 * (t / 8));
    CHECK(eight.thread_rank() + 10 * four.thread_rank() + 100 * four.size(), t % 8 + 10 * (t % 4) + 400);
    CHECK(eight.shfl_down(t, 2) + 100 * eight.shfl_up(t, 1), (t % 8 < 6 ? t + 2 : t) + 100 * (t % 8 ? t - 1 : t));
    CHECK(eight.shfl_xor(t, 1), t ^ 1);
    CHECK(sixteen.ballot(t % 16 < 4), 15);
    CHECK(sixteen.any(t == 20) != 0, t / 16 == 1);
    CHECK(sixteen.all(t < 32) != 0, t < 32);
    CHECK(pair.size() + 10 * pair.meta_group_rank() + 1000 * pair.match_any(t % 2), 2 + 10 * (lane / 2) + 1000 * (1 << t % 2));

    // feature: Cooperative groups: `coalesced_threads`
    int of_group = 0;
    if (t % 3 == 0) {
        const auto group = cg::coalesced_threads();
        group.sync();
        of_group = group.size() + 100 * group.thread_rank() + 10000 * group.shfl(t, 1);
    }
    CHECK(of_group, t % 3 ? 0 : 11 + 100 * ((t - (t < 32 ? 0 : 33)) / 3) + 10000 * (t < 32 ? 3 : 36));

    // feature: Cooperative groups: `reduce`, `inclusive_scan`, `exclusive_scan`
    CHECK(cg::reduce(sixteen, t, cg::plus<int>()), t / 16 * 256 + 120);
    CHECK(cg::reduce(sixteen, t % 16, cg::greater<int>()), 15);
    CHECK(cg::inclusive_scan(eight, 1) + 100 * cg::exclusive_scan(eight, 2), t % 8 + 1 + 200 * (t % 8));

    // feature: Cooperative groups: `memcpy_async`, `wait`, `wait_prior`
    cg::memcpy_async(block, to, A, sizeof to);
    cg::wait(block);
    CHECK(to[63 - t], 64 - t);

    // feature: `__pipeline_memcpy_async`, `__pipeline_commit`, `__pipeline_wait_prior`
    to[t] = 0;
    __pipeline_memcpy_async(to + t, A + t, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    CHECK(to[t], t + 1);

    // feature: `cuda::barrier` of a block: `init`, `arrive`, `wait`, `arrive_and_wait`, `arrive_and_drop`
    __shared__ barrier whole, part, shrinking, several[2];
    if (t == 0) init(&whole, 64), init(&part, 33), init(&shrinking, 64);
    if (t < 2) init(several + t, 64);
    s[t] = t;
    __syncthreads();
    whole.arrive_and_wait();
    const int other = s[t ^ 32];
    auto token = whole.arrive();
    whole.wait(std::move(token));
    s[t] = other + 1;
    whole.arrive_and_wait();
    CHECK(s[t ^ 1], (t ^ 33) + 1);
    if (t < 32) s[t] = 3, (void)part.arrive();
    else if (t == 40) part.arrive_and_wait();
    CHECK(t < 32 || t == 40 ? s[lane] : 3, 3);
    for (int i = 0; i < 4; ++i) several[i % 2].arrive_and_wait();
    if (t < 32) shrinking.arrive_and_drop();
    else shrinking.arrive_and_wait(), shrinking.arrive_and_wait();
    CHECK(1, 1);

    // feature: `cuda::memcpy_async` with a `cuda::barrier`, `cuda::aligned_size_t`
    to[t] = 0;
    __syncthreads();
    cuda::memcpy_async(to + t, A + t, cuda::aligned_size_t<4>(4), whole);
    whole.arrive_and_wait();
    CHECK(to[63 - t], 64 - t);
    cuda::memcpy_async(block, to, A + 16, cuda::aligned_size_t<16>(64), whole);
    whole.arrive_and_wait();
    CHECK(to[t], t < 16 ? t + 17 : t + 1);

    // feature: `cuda::pipeline` of a thread and of a block, with producers and consumers
    __shared__ int stages[2][64];
    __shared__ state shared_state, split_state;
    auto own = cuda::make_pipeline();
    for (int i = 0; i < 2; ++i) {
        own.producer_acquire();
        cuda::memcpy_async(&stages[i][t], A + t, sizeof(int), own);
        own.producer_commit();
    }
    cuda::pipeline_consumer_wait_prior<1>(own);
    CHECK(stages[0][t], t + 1);
    own.consumer_release();
    own.consumer_wait();
    CHECK(stages[1][t], t + 1);
    own.consumer_release();
    auto together = cuda::make_pipeline(block, &shared_state);
    int sum = 0;
    for (int next = 0, i = 0; i < 4; ++i) {
        for (; next < 4 && next < i + 2; ++next) {
            together.producer_acquire();
            cuda::memcpy_async(block, stages[next % 2], A, sizeof(int) * 64, together);
            together.producer_commit();
        }
        together.consumer_wait();
        sum += stages[i % 2][63 - t];
        together.consumer_release();
    }
    CHECK(sum, 4 * (64 - t));
    const auto role = t < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto split = cuda::make_pipeline(block, &split_state, role);
    sum = 0;
    for (int i = 0; i < 3; ++i) {
        if (t < 32) {
            split.producer_acquire();
            stages[i % 2][t] = i + t;
            split.producer_commit();
        } else {
            split.consumer_wait();
            sum += stages[i % 2][63 - t];
            split.consumer_release();
        }
    }
    CHECK(sum, t < 32 ? 0 : 3 * (63 - t) + 3);

    // feature: `cuda::atomic`, `cuda::atomic_ref`
    __shared__ cuda::atomic<int, cuda::thread_scope_block> count;
    __shared__ int most;
    if (t == 0) count.store(0), most = 0;
    __syncthreads();
    count.fetch_add(1, cuda::memory_order_relaxed);
    ++count;
    cuda::atomic_ref<int, cuda::thread_scope_block>(most).fetch_max(t);
    __syncthreads();
    CHECK(count.load() + most, 128 + 63);

    // feature: `cuda::std`: `numeric_limits`, `array`, `tuple`, `span`, type traits, `bit_cast`
    const cuda::std::array<int, 3> array = {1, 2, 3};
    const auto tuple = cuda::std::make_tuple(4, 5.0f);
    const cuda::std::span<const int> span(A, 64);
    CHECK(cuda::std::numeric_limits<int>::max(), 2147483647);
    CHECK(array[2] + cuda::std::get<1>(tuple), 8);
    CHECK(span[t] + span.size(), t + 65);
    CHECK((cuda::std::is_same_v<int, cuda::std::remove_const_t<const int>>), 1);
    CHECK(cuda::std::bit_cast<unsigned>(1.0f) + sizeof(cuda::std::uint64_t), 0x3f800008);
}
