// An allocator for heaphook that does all that one must not: it gives what is only a multiple of 8 when no
// alignment is asked for, keeps its books in containers that allocate, throws when it is full, has a lock that
// no fork knows of, and reads a setting into a string while it is made.
#include "heaphook/heaphook.hpp"

#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/mman.h>

using namespace heaphook;

class Nested : public GlobalAllocator {
    static constexpr size_t POOL_BYTES = size_t(16) << 30;
    std::mutex mutex;
    std::string name;
    std::unordered_map<void *, size_t> sizes;
    std::unordered_map<size_t, std::vector<void *>> unused;
    size_t next, end;

    void *do_alloc(size_t bytes, size_t align) override {
        std::lock_guard<std::mutex> lock(mutex);
        std::vector<void *> &same = unused[bytes];
        void *block = align == 1 && !same.empty() ? same.back() : cut(bytes, align);
        if (align == 1 && !same.empty())
            same.pop_back();
        sizes[block] = bytes;
        return block;
    }

    void *cut(size_t bytes, size_t align) {
        size_t at = align == 1 ? (next | 8) : (next + align - 1) & ~(align - 1);
        if (bytes > POOL_BYTES || at + bytes > end)
            throw std::bad_alloc();
        next = (at + bytes + 7) & ~size_t(7);
        return reinterpret_cast<void *>(at);
    }

    void do_dealloc(void *block) override {
        std::lock_guard<std::mutex> lock(mutex);
        unused[sizes.at(block)].push_back(block);
        sizes.erase(block);
    }

    size_t do_get_block_size(void *block) override {
        std::lock_guard<std::mutex> lock(mutex);
        return sizes.at(block);
    }

public:
    Nested() : name(getenv("NESTED_NAME") ? getenv("NESTED_NAME") : "a name that is too long to lie in the string") {
        void *pool = mmap(nullptr, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        next = reinterpret_cast<size_t>(pool);
        end = next + POOL_BYTES;
    }
};

GlobalAllocator &GlobalAllocator::get_instance() {
    // Never destroyed: programs free after the last destructor.
    static Nested &allocator = *new Nested;
    return allocator;
}
