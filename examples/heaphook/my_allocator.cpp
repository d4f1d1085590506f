// An allocator as one writes it for heaphook: a list of free blocks for each power of two. It knows nothing of
// heapscribe; docs/heaps.md says how it is built.
#include "heaphook/heaphook.hpp"

#include <sys/mman.h>

#include <mutex>

using namespace heaphook;

class PowersOfTwo : public GlobalAllocator
{
  // In front of each block: where its piece of 2^power bytes begins.
  struct Head
  {
    char * piece;
    size_t power;
  };

  static constexpr size_t POWERS = 48;
  static constexpr size_t POOL_BYTES = size_t(64) << 30;

  std::mutex mutex_;
  char * next_ = nullptr;
  char * end_ = nullptr;
  char * free_[POWERS] = {};

  static Head & head(void * ptr)
  {
    return static_cast<Head *>(ptr)[-1];
  }

  char * take(size_t power)
  {
    std::lock_guard<std::mutex> lock(mutex_);
    size_t bytes = size_t(1) << power;
    char * piece = free_[power];
    if (piece != nullptr) {
      std::memcpy(&free_[power], piece, sizeof(char *));
    } else if (bytes <= size_t(end_ - next_)) {
      piece = next_;
      next_ += bytes;
    }
    return piece;
  }

  void * do_alloc(size_t bytes, size_t align) override
  {
    size_t power = 5;
    while (power < POWERS && (size_t(1) << power) < bytes + align + sizeof(Head)) {
      power++;
    }
    char * piece = power < POWERS ? take(power) : nullptr;
    if (piece == nullptr) {
      return nullptr;
    }
    size_t address = reinterpret_cast<size_t>(piece) + sizeof(Head);
    void * ptr = reinterpret_cast<void *>((address + align - 1) & ~(align - 1));
    head(ptr) = Head{piece, power};
    return ptr;
  }

  void do_dealloc(void * ptr) override
  {
    auto [piece, power] = head(ptr);
    std::lock_guard<std::mutex> lock(mutex_);
    std::memcpy(piece, &free_[power], sizeof(char *));
    free_[power] = piece;
  }

  size_t do_get_block_size(void * ptr) override
  {
    auto [piece, power] = head(ptr);
    return piece + (size_t(1) << power) - static_cast<char *>(ptr);
  }

public:
  PowersOfTwo()
  {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void * pool = mmap(nullptr, POOL_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (pool != MAP_FAILED) {
      next_ = static_cast<char *>(pool);
      end_ = next_ + POOL_BYTES;
    }
  }
};

GlobalAllocator & GlobalAllocator::get_instance()
{
  static PowersOfTwo allocator;
  return allocator;
}
