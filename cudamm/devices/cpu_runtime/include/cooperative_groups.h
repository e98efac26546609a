// Cooperative groups on the CPU device: blocks, tiles of a warp, and the threads of a warp that run together.
#pragma once
#include "waiting.h"

namespace cooperative_groups {

namespace details {

inline unsigned thread_of_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
inline unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

// Lanes of a warp, as a mask. `rank` is the place of this thread among them.
class lanes {
public:
    explicit lanes(unsigned mask = 0) : mask_(mask) {}
    unsigned mask() const { return mask_; }
    unsigned count() const { return __builtin_popcount(mask_); }
    unsigned rank() const { return __builtin_popcount(mask_ & ((1u << cudamm::lane()) - 1)); }
    int lane_of(unsigned rank) const {
        unsigned left = mask_;
        for (; rank; --rank) left &= left - 1;
        return left ? __builtin_ctz(left) : cudamm::lane();
    }
    // Returns a mask of lanes as bits by rank.
    unsigned by_rank(unsigned lanes) const {
        unsigned ranks = 0, rank = 0;
        for (unsigned left = mask_; left; left &= left - 1, ++rank)
            ranks |= (lanes >> __builtin_ctz(left) & 1) << rank;
        return ranks;
    }

private:
    unsigned mask_;
};

}  // namespace details

// A group of lanes: what tiles and coalesced groups have in common.
class thread_group {
public:
    thread_group() : block_(true) {}
    explicit thread_group(details::lanes lanes) : lanes_(lanes), block_(false) {}
    unsigned long long size() const { return block_ ? details::threads_of_block() : lanes_.count(); }
    unsigned long long num_threads() const { return size(); }
    unsigned long long thread_rank() const { return block_ ? details::thread_of_block() : lanes_.rank(); }
    bool is_valid() const { return true; }
    void sync(CUDAMM_HERE) const {
        if (block_) __syncthreads(line, file);
        else __syncwarp(lanes_.mask(), line, file);
    }
    const details::lanes& cudamm_lanes() const { return lanes_; }

private:
    details::lanes lanes_;
    bool block_;
};

class thread_block : public thread_group {
public:
    static void sync(CUDAMM_HERE) { __syncthreads(line, file); }
    static unsigned size() { return details::threads_of_block(); }
    static unsigned num_threads() { return size(); }
    static unsigned thread_rank() { return details::thread_of_block(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};

inline thread_block this_thread_block() { return {}; }

class grid_group {
public:
    static void sync(CUDAMM_HERE) {
        cudamm::stop_kernel("this_grid().sync() does not work on the CPU device, which does not run all blocks at the "
                            "same time; it was called", line, file);
    }
    static bool is_valid() { return true; }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return blockIdx; }
    static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    static unsigned long long block_rank() {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    static unsigned long long size() { return num_blocks() * details::threads_of_block(); }
    static unsigned long long num_threads() { return size(); }
    static unsigned long long thread_rank() {
        return block_rank() * details::threads_of_block() + details::thread_of_block();
    }
};
inline grid_group this_grid() { return {}; }

// Warp functions on a group of lanes.
class coalesced_group : public thread_group {
public:
    coalesced_group() = default;
    explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
        : thread_group(details::lanes(mask)), meta_rank_(meta_rank), meta_size_(meta_size) {}
    unsigned size() const { return lanes().count(); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const { return lanes().rank(); }
    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }

    template <class T>
    T shfl(T value, unsigned rank, CUDAMM_HERE) const {
        return from(value, rank % size(), "shfl", line, file);
    }
    template <class T>
    T shfl_up(T value, unsigned delta, CUDAMM_HERE) const {
        const unsigned rank = thread_rank();
        return from(value, rank < delta ? rank : rank - delta, "shfl_up", line, file);
    }
    template <class T>
    T shfl_down(T value, unsigned delta, CUDAMM_HERE) const {
        const unsigned rank = thread_rank();
        return from(value, rank + delta < size() ? rank + delta : rank, "shfl_down", line, file);
    }
    template <class T>
    T shfl_xor(T value, unsigned bits, CUDAMM_HERE) const {
        const unsigned rank = thread_rank();
        return from(value, (rank ^ bits) < size() ? rank ^ bits : rank, "shfl_xor", line, file);
    }
    int any(int predicate, CUDAMM_HERE) const { return __any_sync(lanes().mask(), predicate, line, file); }
    int all(int predicate, CUDAMM_HERE) const { return __all_sync(lanes().mask(), predicate, line, file); }
    unsigned ballot(int predicate, CUDAMM_HERE) const {
        return lanes().by_rank(__ballot_sync(lanes().mask(), predicate, line, file));
    }
    template <class T>
    unsigned match_any(T value, CUDAMM_HERE) const {
        T values[32];
        unsigned equal = 0;
        const unsigned took_part = gathered(value, values, "match_any", line, file);
        for (unsigned lane = 0; lane < 32; ++lane)
            if (took_part >> lane & 1 && values[lane] == value) equal |= 1u << lane;
        return lanes().by_rank(equal);
    }
    template <class T>
    unsigned match_all(T value, int& all, CUDAMM_HERE) const {
        T values[32];
        const unsigned took_part = gathered(value, values, "match_all", line, file);
        all = 1;
        for (unsigned lane = 0; lane < 32; ++lane)
            if (took_part >> lane & 1 && !(values[lane] == value)) all = 0;
        return all ? lanes().by_rank(took_part) : 0;
    }
    // Fills `values`, by lane, and returns the lanes that took part; for reduce.h and scan.h.
    template <class T>
    unsigned gathered(T value, T* values, const char* operation, int line, const char* file) const {
        static_assert(sizeof value <= 32, "a value of a warp function has at most 32 bytes");
        return cudamm::gather(lanes().mask(), &value, sizeof value, values, operation, line, file);
    }
    const details::lanes& lanes() const { return cudamm_lanes(); }

private:
    template <class T>
    T from(T value, unsigned rank, const char* operation, int line, const char* file) const {
        cudamm::exchange(lanes().mask(), &value, sizeof value, lanes().lane_of(rank), operation, line, file);
        return value;
    }
    unsigned meta_rank_ = 0, meta_size_ = 1;
};

inline coalesced_group coalesced_threads(CUDAMM_HERE) {
    return coalesced_group(cudamm::converged_lanes(line, file));
}

// A tile of SIZE adjacent threads of a block.
template <unsigned SIZE, class Parent = void>
class thread_block_tile : public coalesced_group {
    static_assert(SIZE && !(SIZE & (SIZE - 1)) && SIZE <= 32, "on the CPU device a tile has 1, 2, 4, 8, 16 or 32 threads");

public:
    thread_block_tile() : thread_block_tile(details::thread_of_block(), details::threads_of_block()) {}
    thread_block_tile(unsigned rank_in_parent, unsigned threads_of_parent)
        : coalesced_group(mask_of(details::thread_of_block() % 32, threads_of_parent - rank_in_parent / SIZE * SIZE),
                          rank_in_parent / SIZE, (threads_of_parent + SIZE - 1) / SIZE) {}
    // A tile whose type does not name its parent, as in `thread_block_tile<32> warp = …`.
    template <class P>
    thread_block_tile(const thread_block_tile<SIZE, P>& other) : coalesced_group(other) {}
    static constexpr unsigned size() { return SIZE; }
    static constexpr unsigned num_threads() { return SIZE; }
    unsigned thread_rank() const { return details::thread_of_block() % SIZE; }

private:
    // The last tile of a block may lack threads.
    static unsigned mask_of(unsigned lane, unsigned threads) {
        const unsigned count = threads < SIZE ? threads : SIZE;
        return (unsigned)((1ull << count) - 1) << (lane & ~(SIZE - 1));
    }
};

template <unsigned SIZE>
inline thread_block_tile<SIZE, thread_block> tiled_partition(const thread_block&) {
    return {};
}
template <unsigned SIZE, unsigned PARENT, class P>
inline thread_block_tile<SIZE, thread_block_tile<PARENT, P>> tiled_partition(const thread_block_tile<PARENT, P>& parent) {
    static_assert(SIZE <= PARENT, "a tile is not larger than the group that it is a part of");
    return {parent.thread_rank(), PARENT};
}
inline coalesced_group tiled_partition(const thread_block&, unsigned size) {
    const unsigned rank = details::thread_of_block(), threads = details::threads_of_block();
    const unsigned first = rank / size * size, count = threads - first < size ? threads - first : size;
    return coalesced_group((unsigned)((1ull << count) - 1) << (first % 32), rank / size, (threads + size - 1) / size);
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
    const unsigned first = parent.thread_rank() / size * size;
    unsigned mask = 0;
    for (unsigned rank = first; rank < first + size && rank < parent.size(); ++rank)
        mask |= 1u << parent.lanes().lane_of(rank);
    return coalesced_group(mask, first / size, (parent.size() + size - 1) / size);
}
template <class Group>
inline coalesced_group binary_partition(const Group& parent, bool predicate, CUDAMM_HERE) {
    const unsigned all = parent.lanes().mask(), yes = __ballot_sync(all, predicate, line, file);
    return coalesced_group(predicate ? yes : all & ~yes, predicate, 2);
}

template <class Group>
inline void sync(const Group& group, CUDAMM_HERE) { group.sync(line, file); }
template <class Group>
inline auto thread_rank(const Group& group) { return group.thread_rank(); }
template <class Group>
inline auto group_size(const Group& group) { return group.size(); }

template <class Group, class F>
inline void invoke_one(const Group& group, F&& function) {
    if (group.thread_rank() == 0) function();
}

}  // namespace cooperative_groups
