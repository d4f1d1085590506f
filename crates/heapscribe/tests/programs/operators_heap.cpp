// A heap in a library that has operators as well, which call its `malloc` and each other by name: a program's call is
// one call all the same.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace {
constexpr std::size_t heap_bytes = 64 << 20;
alignas(4096) char heap[heap_bytes];
std::size_t used;

std::size_t &size_of(void *p) { return static_cast<std::size_t *>(p)[-1]; }
}

extern "C" {
void *memalign(std::size_t align, std::size_t size) {
    if (size > heap_bytes) return nullptr;
    std::size_t room = size + align + 32, at = __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);
    if (at + room > heap_bytes) return nullptr;
    auto address = (reinterpret_cast<std::uintptr_t>(heap + at) + 16 + align - 1) & ~(align - 1);
    void *p = reinterpret_cast<void *>(address);
    size_of(p) = size;
    return p;
}
void *malloc(std::size_t size) { return memalign(16, size); }
void free(void *) {}
void *calloc(std::size_t n, std::size_t size) { return malloc(n * size); }
void *realloc(void *old, std::size_t size) {
    void *p = malloc(size);
    if (p && old) std::memcpy(p, old, size < size_of(old) ? size : size_of(old));
    return p;
}
void *aligned_alloc(std::size_t align, std::size_t size) { return memalign(align, size); }
int posix_memalign(void **out, std::size_t align, std::size_t size) {
    return (*out = memalign(align, size)) ? 0 : ENOMEM;
}
std::size_t malloc_usable_size(void *p) { return p ? size_of(p) : 0; }
}

void *operator new(std::size_t size) {
    void *p = malloc(size);
    if (!p) throw std::bad_alloc();
    return p;
}
void *operator new[](std::size_t size) { return operator new(size); }
void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return malloc(size); }
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept { return malloc(size); }
void *operator new(std::size_t size, std::align_val_t align) { return memalign(std::size_t(align), size); }
void *operator new[](std::size_t size, std::align_val_t align) { return operator new(size, align); }
void *operator new(std::size_t size, std::align_val_t align, const std::nothrow_t &) noexcept {
    return memalign(std::size_t(align), size);
}
void *operator new[](std::size_t size, std::align_val_t align, const std::nothrow_t &) noexcept {
    return memalign(std::size_t(align), size);
}
void operator delete(void *p) noexcept { free(p); }
void operator delete[](void *p) noexcept { operator delete(p); }
void operator delete(void *p, std::size_t) noexcept { operator delete(p); }
void operator delete[](void *p, std::size_t) noexcept { operator delete[](p); }
void operator delete(void *p, const std::nothrow_t &) noexcept { free(p); }
void operator delete[](void *p, const std::nothrow_t &) noexcept { free(p); }
void operator delete(void *p, std::align_val_t) noexcept { free(p); }
void operator delete[](void *p, std::align_val_t) noexcept { free(p); }
void operator delete(void *p, std::size_t, std::align_val_t) noexcept { free(p); }
void operator delete[](void *p, std::size_t, std::align_val_t) noexcept { free(p); }
void operator delete(void *p, std::align_val_t, const std::nothrow_t &) noexcept { free(p); }
void operator delete[](void *p, std::align_val_t, const std::nothrow_t &) noexcept { free(p); }
