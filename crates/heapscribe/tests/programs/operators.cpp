// Every form of the operators new and delete, and the functions of C beside them, as often as the argument says; then
// the calls by kind, as `counted.h` has them. Three blocks leak in each round. With a second argument an operator new
// throws, three times.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

static unsigned long mallocs, callocs, reallocs, aligned, frees;

static void *made(unsigned long &kind, void *p) {
    if (!p) std::abort();
    ++kind;
    return p;
}

#define NEW(...) made(mallocs, operator new(__VA_ARGS__))
#define NEW_ARRAY(...) made(mallocs, operator new[](__VA_ARGS__))
#define NEW_ALIGNED(...) made(aligned, operator new(__VA_ARGS__))
#define NEW_ALIGNED_ARRAY(...) made(aligned, operator new[](__VA_ARGS__))
#define DELETE(...) (++frees, operator delete(__VA_ARGS__))
#define DELETE_ARRAY(...) (++frees, operator delete[](__VA_ARGS__))

static void round() {
    const std::align_val_t page{4096};
    DELETE(NEW(10));
    DELETE(NEW(20), std::size_t(20));
    DELETE(NEW(30, std::nothrow), std::nothrow);
    DELETE(NEW_ALIGNED(40, page), page);
    DELETE(NEW_ALIGNED(50, page), std::size_t(50), page);
    DELETE(NEW_ALIGNED(60, page, std::nothrow), page, std::nothrow);
    DELETE_ARRAY(NEW_ARRAY(10));
    DELETE_ARRAY(NEW_ARRAY(20), std::size_t(20));
    DELETE_ARRAY(NEW_ARRAY(30, std::nothrow), std::nothrow);
    DELETE_ARRAY(NEW_ALIGNED_ARRAY(40, page), page);
    DELETE_ARRAY(NEW_ALIGNED_ARRAY(50, page), std::size_t(50), page);
    DELETE_ARRAY(NEW_ALIGNED_ARRAY(60, page, std::nothrow), page, std::nothrow);
    operator delete(nullptr), operator delete[](nullptr); // not calls of the heap
    void *p = made(mallocs, std::malloc(70));
    p = made(reallocs, std::realloc(p, 7000));
    std::free(p), ++frees;
    std::free(made(callocs, std::calloc(8, 10))), ++frees;
    NEW(1000), NEW_ARRAY(2000), NEW_ALIGNED(3000, page);
}

int main(int argc, char **argv) {
    for (int n = argc > 1 ? std::atoi(argv[1]) : 0; n > 0; n--) round();
    int caught = 0;
    for (int n = 0; argc > 2 && n < 3; n++) {
        try {
            static volatile std::size_t too_much = ~std::size_t(0) >> 2;
            operator new(too_much);
        } catch (const std::bad_alloc &) {
            caught++;
        }
    }
    std::printf("caught %d\ncounts %lu %lu %lu %lu %lu\n", caught, mallocs, callocs, reallocs, aligned, frees);
    return 6;
}
