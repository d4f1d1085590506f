// C++: exceptions through many frames that own blocks, thread-local and static objects with destructors.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::vector<std::string> at_start(100, std::string(200, 'x'));
static thread_local std::vector<std::string> of_thread(10, std::string(100, 'y'));

struct AtEnd { ~AtEnd() { std::vector<int> last(1000); std::printf("end %zu\n", last.size()); } } static at_end;

static int deep(int n) {
    auto block = std::make_unique<char[]>(n + 1);
    std::string name(50, 'n');
    if (n == 0) throw std::runtime_error("from the deepest frame, with a long text that is on the heap");
    return deep(n - 1) + block[n / 2];
}

static int catches(int rounds) {
    int caught = 0;
    for (int i = 0; i < rounds; i++)
        try { deep(200); } catch (const std::exception &e) { caught += e.what()[0] == 'f'; }
    return caught;
}

int main() {
    int caught = catches(50), of_threads = 0;
    for (int i = 0; i < 10; i++)
        std::thread([&] { of_thread.emplace_back(300, 'z'); of_threads += catches(5); }).join();
    std::printf("%zu %d %d\n", at_start.size(), caught, of_threads);
    try { throw std::bad_alloc(); } catch (...) {}
    try { delete[] new char[(size_t)1 << 62]; } catch (const std::bad_alloc &) { std::puts("bad_alloc"); }
    return 4;
}
