// An allocator for heaphook that passes everything on to the heap behind it, found by dlsym.
#include <dlfcn.h>

#include "heaphook/heaphook.hpp"
#include "heaphook/hook_types.hpp"

using namespace heaphook;

template <typename Function> static Function next(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

class Next : public GlobalAllocator {
    void *do_alloc(size_t bytes, size_t align) override {
        if (align == 1) {
            static auto its_malloc = next<malloc_type>("malloc");
            return its_malloc(bytes);
        }
        static auto its_memalign = next<memalign_type>("memalign");
        return its_memalign(align, bytes);
    }

    void do_dealloc(void *block) override {
        static auto its_free = next<free_type>("free");
        its_free(block);
    }

    size_t do_get_block_size(void *block) override {
        static auto its_size = next<malloc_usable_size_type>("malloc_usable_size");
        return its_size(block);
    }

    void *do_alloc_zeroed(size_t bytes) override {
        static auto its_calloc = next<calloc_type>("calloc");
        return its_calloc(bytes, 1);
    }

    void *do_realloc(void *block, size_t bytes) override {
        static auto its_realloc = next<realloc_type>("realloc");
        return its_realloc(block, bytes);
    }
};

GlobalAllocator &GlobalAllocator::get_instance() {
    static Next allocator;
    return allocator;
}
