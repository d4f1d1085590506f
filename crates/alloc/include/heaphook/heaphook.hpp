/* Allocators that were written for heaphook, in C++17, as heaps of heapscribe, unchanged:
 *
 *   heapscribe header --to include
 *   g++ -O2 -shared -fPIC -I include my_allocator.cpp -o libmy_allocator.so
 *   heapscribe run --heap ./libmy_allocator.so -- CMD
 *
 * You derive from heaphook::GlobalAllocator and define its get_instance. What differs from heaphook, and why:
 *
 * - alignment   An alignment of 1 means no wish, as it did there. But malloc has to give a multiple of 16, so
 *               an allocator that gives less is asked again, and from then on always, for 16.
 * - nested      Within a call of the allocator - its constructor is within the first - malloc does not come
 *               back to it: such blocks are from a reserve of 1 GiB of addresses.
 * - fork        A fork waits until no thread is within the allocator, so a child finds its locks free.
 * - exceptions  One that leaves the allocator means that there is no memory.
 *
 * Calls are not traced here whatever TRACE is: `heapscribe record --heap` does that. */
#ifndef HEAPHOOK_HEAPHOOK_HPP
#define HEAPHOOK_HEAPHOOK_HPP

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <heapscribe_heap.h>

static constexpr bool HeapTraceEnabled = false;

namespace heaphook {

class GlobalAllocator {
protected:
    GlobalAllocator() = default;

public:
    GlobalAllocator(const GlobalAllocator &) = delete;
    GlobalAllocator(GlobalAllocator &&) = delete;
    GlobalAllocator &operator=(const GlobalAllocator &) = delete;
    GlobalAllocator &operator=(GlobalAllocator &&) = delete;

    /* You define it: the one allocator there is. */
    static GlobalAllocator &get_instance();

    [[nodiscard]] void *alloc(size_t bytes, size_t align = 1) { return do_alloc(bytes, align); }
    void dealloc(void *block) { do_dealloc(block); }
    size_t get_block_size(void *block) { return do_get_block_size(block); }
    [[nodiscard]] void *alloc_zeroed(size_t bytes) { return do_alloc_zeroed(bytes); }
    [[nodiscard]] void *realloc(void *block, size_t bytes) { return do_realloc(block, bytes); }

private:
    /* A block of `bytes`, which are never 0, at a multiple of `align`, which is 1 or a power of two from 16
     * on; or nullptr. */
    virtual void *do_alloc(size_t bytes, size_t align) = 0;
    /* Takes a block back, never nullptr. */
    virtual void do_dealloc(void *block) = 0;
    /* What may be used of a block: at least what was asked for. */
    virtual size_t do_get_block_size(void *block) = 0;

    virtual void *do_alloc_zeroed(size_t bytes) {
        void *block = do_alloc(bytes, 1);
        return block ? std::memset(block, 0, bytes) : nullptr;
    }

    /* A block stays where it is as long as at least half of it is used. */
    virtual void *do_realloc(void *block, size_t bytes) {
        size_t had = do_get_block_size(block);
        if (bytes <= had && bytes >= had / 2)
            return block;
        void *moved = do_alloc(bytes, 1);
        if (moved) {
            std::memcpy(moved, block, had < bytes ? had : bytes);
            do_dealloc(block);
        }
        return moved;
    }
};

/* From here on: how heapscribe reaches the allocator. */
namespace bridge {

constexpr size_t MALLOC_ALIGN = 16;

inline bool is_aligned(const void *block, size_t align) {
    return (reinterpret_cast<uintptr_t>(block) & (align - 1)) == 0;
}

/* Where blocks come from that the allocator itself asks of malloc: pieces of powers of two. In front of each
 * block stands where its piece begins. Used within a Call only. */
class Reserve {
public:
    void *take(size_t bytes, size_t align) {
        size_t power = 5;
        while (power < POWERS && (size_t(1) << power) - sizeof(Head) < align)
            power++;
        while (power < POWERS && (size_t(1) << power) - sizeof(Head) - align < bytes)
            power++;
        char *piece = power < POWERS ? take_piece(power) : nullptr;
        if (!piece)
            return nullptr;
        uintptr_t at = (reinterpret_cast<uintptr_t>(piece) + sizeof(Head) + align - 1) & ~(align - 1);
        void *block = reinterpret_cast<void *>(at);
        head(block) = Head{piece, power};
        return block;
    }

    void give_back(void *block) {
        Head its = head(block);
        pthread_mutex_lock(&lock);
        std::memcpy(its.piece, &free[its.power], sizeof(char *));
        free[its.power] = its.piece;
        pthread_mutex_unlock(&lock);
    }

    bool has(const void *block) const {
        const char *start = base.load(std::memory_order_acquire);
        return start && block >= start && block < start + BYTES;
    }

    static size_t size(void *block) {
        Head its = head(block);
        return its.piece + (size_t(1) << its.power) - static_cast<char *>(block);
    }

private:
    struct Head {
        char *piece;
        size_t power;
    };

    static constexpr size_t POWERS = 31;
    static constexpr size_t BYTES = size_t(1) << 30;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<char *> base{nullptr};
    size_t used = 0;
    char *free[POWERS] = {};

    static Head &head(void *block) { return static_cast<Head *>(block)[-1]; }

    char *take_piece(size_t power) {
        size_t bytes = size_t(1) << power;
        pthread_mutex_lock(&lock);
        char *start = room(), *piece = free[power];
        if (piece) {
            std::memcpy(&free[power], piece, sizeof(char *));
        } else if (start && bytes <= BYTES - used) {
            piece = start + used;
            used += bytes;
        }
        pthread_mutex_unlock(&lock);
        return piece;
    }

    char *room() {
        char *start = base.load(std::memory_order_relaxed);
        if (start)
            return start;
        constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void *mapped = mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (mapped == MAP_FAILED)
            return nullptr;
        base.store(static_cast<char *>(mapped), std::memory_order_release);
        return static_cast<char *>(mapped);
    }
};

inline Reserve reserve;

/* Taken shared by calls, alone by forks. One that favours calls would let threads that never stop allocating
 * keep a fork waiting. */
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#define HEAPHOOK_GATE PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#else
#define HEAPHOOK_GATE PTHREAD_RWLOCK_INITIALIZER
#endif
inline pthread_rwlock_t gate = HEAPHOOK_GATE;

enum class Where { outside, within, forking };

/* Where this thread is. In the space that every thread has from its beginning: any other would be made by
 * malloc, at the first look. */
inline Where &where() {
    static __thread Where here __attribute__((tls_model("initial-exec"))) = Where::outside;
    return here;
}

/* A call of the allocator, from here to the end of the block. */
class Call {
public:
    Call() : before(where()) {
        if (before == Where::outside)
            pthread_rwlock_rdlock(&gate);
        where() = Where::within;
    }

    ~Call() {
        where() = before;
        if (before == Where::outside)
            pthread_rwlock_unlock(&gate);
    }

    bool is_nested() const { return before == Where::within; }

private:
    Where before;
};

template <typename Function> void *or_null(Function function) {
#ifdef __cpp_exceptions
    try {
        return function();
    } catch (...) {
        return nullptr;
    }
#else
    return function();
#endif
}

/* As it is if it is aligned; else it is given back. */
inline void *checked(GlobalAllocator &heap, void *block, size_t align) {
    if (is_aligned(block, align))
        return block;
    heap.dealloc(block);
    return nullptr;
}

/* Of the allocator. */
inline void *fresh(size_t bytes, size_t align) {
    static std::atomic<bool> has_to_be_told{false};
    GlobalAllocator &heap = GlobalAllocator::get_instance();
    if (align > MALLOC_ALIGN || has_to_be_told.load(std::memory_order_relaxed))
        return checked(heap, heap.alloc(bytes, align), align);
    void *block = heap.alloc(bytes);
    if (is_aligned(block, align))
        return block;
    heap.dealloc(block);
    has_to_be_told.store(true, std::memory_order_relaxed);
    return checked(heap, heap.alloc(bytes, align), align);
}

inline void *alloc(void *, size_t bytes, size_t align) {
    Call call;
    if (call.is_nested())
        return reserve.take(bytes, align);
    return or_null([=] { return fresh(bytes, align); });
}

inline void *alloc_zeroed(void *, size_t bytes, size_t align) {
    Call call;
    if (call.is_nested())
        return reserve.take(bytes, align);
    return or_null([=]() -> void * {
        GlobalAllocator &heap = GlobalAllocator::get_instance();
        void *block = align > MALLOC_ALIGN ? nullptr : heap.alloc_zeroed(bytes);
        if (block && is_aligned(block, align))
            return block;
        if (block)
            heap.dealloc(block);
        block = fresh(bytes, align);
        return block ? std::memset(block, 0, bytes) : nullptr;
    });
}

inline void free(void *, void *block) {
    Call call;
    if (reserve.has(block))
        return reserve.give_back(block);
    if (call.is_nested())
        return;
    or_null([=]() -> void * {
        GlobalAllocator::get_instance().dealloc(block);
        return nullptr;
    });
}

inline size_t usable_size(void *, void *block) {
    Call call;
    if (reserve.has(block))
        return Reserve::size(block);
    size_t bytes = 0;
    if (!call.is_nested())
        or_null([&]() -> void * {
            bytes = GlobalAllocator::get_instance().get_block_size(block);
            return nullptr;
        });
    return bytes;
}

/* Of the allocator's own, which it may move to where malloc's blocks must not lie. */
inline void *resized(void *block, size_t bytes, size_t align) {
    GlobalAllocator &heap = GlobalAllocator::get_instance();
    void *same = align > MALLOC_ALIGN ? block : heap.realloc(block, bytes);
    if (!same || (align <= MALLOC_ALIGN && is_aligned(same, align)))
        return same;
    void *moved = fresh(bytes, align);
    if (moved) {
        size_t had = heap.get_block_size(same);
        std::memcpy(moved, same, had < bytes ? had : bytes);
        heap.dealloc(same);
    }
    return moved;
}

inline void *realloc(void *self, void *block, size_t bytes, size_t align) {
    if (reserve.has(block)) {
        void *moved = alloc(self, bytes, align);
        size_t had = Reserve::size(block);
        if (moved) {
            std::memcpy(moved, block, had < bytes ? had : bytes);
            free(self, block);
        }
        return moved;
    }
    Call call;
    return call.is_nested() ? nullptr : or_null([=] { return resized(block, bytes, align); });
}

inline int owns(void *, const void *address) {
    return reserve.has(address) ? 1 : 2;
}

inline void fork_prepare(void *) {
    pthread_rwlock_wrlock(&gate);
    where() = Where::forking;
}

inline void fork_parent(void *) {
    where() = Where::outside;
    pthread_rwlock_unlock(&gate);
}

/* New, as the threads that wait for it are not there. */
inline void fork_child(void *) {
    where() = Where::outside;
    const pthread_rwlock_t fresh = HEAPHOOK_GATE;
    std::memcpy(&gate, &fresh, sizeof gate);
}

} // namespace bridge
} // namespace heaphook

/* In every file that includes this, and once in a library. */
extern "C" __attribute__((weak, used, visibility("default"))) const struct heapscribe_heap *heapscribe_get_heap() {
    namespace bridge = heaphook::bridge;
    static const struct heapscribe_heap table = {
        HEAPSCRIBE_HEAP_ABI, sizeof table, nullptr,
        bridge::alloc, bridge::free, bridge::usable_size, bridge::alloc_zeroed, bridge::realloc,
        bridge::owns, nullptr, bridge::fork_prepare, bridge::fork_parent, bridge::fork_child, nullptr,
    };
    return &table;
}

#endif
