// heapscribe.h as C++: a section as a guard, a mark, a pool.
#include "heapscribe.h"

#include <cstdio>
#include <memory>

struct Section {
    const char *name;
    explicit Section(const char *n) : name(n) { heapscribe_section_begin(name); }
    ~Section() { heapscribe_section_end(name); }
};

int main() {
    heapscribe_mark("start");
    {
        Section section("c++");
        auto block = std::make_unique<char[]>(1000);
        heapscribe_pool_alloc(block.get(), 500);
        heapscribe_pool_free(block.get());
    }
    heapscribe_counts counts{};
    std::printf("%d\n", heapscribe_stats(&counts, nullptr) >= HEAPSCRIBE_NOT_RECORDED);
}
