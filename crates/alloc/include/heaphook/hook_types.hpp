/* The types of the C library's functions of the heap, under the names that allocators written for heaphook
 * use with dlsym. */
#ifndef HEAPHOOK_HOOK_TYPES_HPP
#define HEAPHOOK_HOOK_TYPES_HPP

#include <cstddef>

using malloc_type = void *(*)(std::size_t);
using valloc_type = malloc_type;
using pvalloc_type = malloc_type;
using free_type = void (*)(void *);
using calloc_type = void *(*)(std::size_t, std::size_t);
using memalign_type = calloc_type;
using aligned_alloc_type = calloc_type;
using realloc_type = void *(*)(void *, std::size_t);
using posix_memalign_type = int (*)(void **, std::size_t, std::size_t);
using malloc_usable_size_type = std::size_t (*)(void *);

#endif
