// A C++ program that knows its stacks: each `operator new` also asks backtrace() who called it.
//
//     stack_truth FILE LIBRARY
// FILE gets for each of these calls, in words of 64 bits: size, number of frames, frames. The first is in `operator
// new`, behind another call than the one of malloc; all others must be those that a trace has.
#include <algorithm>
#include <atomic>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <thread>
#include <unistd.h>
#include <variant>
#include <vector>

#define APART __attribute__((noinline, noclone))

static constexpr size_t WORDS_MAX = 4 << 20;
static uint64_t notes[WORDS_MAX];
static std::atomic<size_t> used;

APART static void note(size_t size) {
    void *frames[600];
    int all = backtrace(frames, 600), ours = 1;
    // On a split stack we may have been called through __morestack.
    auto *asking = reinterpret_cast<char *>(static_cast<void *(*)(size_t)>(operator new));
    while (ours < all && size_t(static_cast<char *>(frames[ours]) - asking) > 256) ours++;
    size_t left = size_t(all - ours), at = used.fetch_add(left + 2);
    if (at + left + 2 > WORDS_MAX) abort();
    notes[at] = size, notes[at + 1] = left;
    memcpy(&notes[at + 2], frames + ours, left * sizeof *frames);
}

APART void *operator new(size_t size) {
    void *block = malloc(size);
    note(size);
    return block;
}
void operator delete(void *block) noexcept { free(block); }
void operator delete(void *block, size_t) noexcept { free(block); }

static volatile unsigned sink;
template <class T> static void use(const T &value) { sink = sink + unsigned(reinterpret_cast<uintptr_t>(&value)); }

struct Shape {
    virtual ~Shape() = default;
    virtual std::unique_ptr<Shape> grown(int times) const = 0;
};
template <int N> struct Polygon : Shape {
    std::vector<int> corners = std::vector<int>(N);
    std::unique_ptr<Shape> grown(int times) const override {
        if (times == 0) return std::make_unique<Polygon<N>>();
        return Polygon<N % 7 + 3>().grown(times - 1);
    }
};

static void virtual_calls() {
    std::unique_ptr<Shape> shapes[] = {std::make_unique<Polygon<3>>(), std::make_unique<Polygon<8>>()};
    for (auto &shape : shapes)
        for (int times = 0; times < 12; times++) use(shape->grown(times));
}

static void functions() {
    std::map<std::string, std::function<std::string(int)>> by_name;
    for (int i = 0; i < 20; i++) {
        char room[64] = {char(i)};
        by_name["a name that is too long to be small " + std::to_string(i)] = [room, i](int n) {
            return std::string(size_t(100 + n + room[0]), char('a' + i % 20));
        };
    }
    for (auto &[name, function] : by_name) use(function(int(name.size())));
}

static void sorts() {
    std::vector<std::string> words;
    for (unsigned i = 0; i < 300; i++) words.push_back("word number " + std::to_string(i * 2654435761u % 1000) + " of some");
    std::sort(words.begin(), words.end(), [](std::string a, const std::string &b) { return a + "!" < b; });
    std::stable_sort(words.begin(), words.end(), [](const auto &a, const auto &b) { return a.size() < b.size(); });
    auto compare = [](const void *a, const void *b) {
        std::string first = **static_cast<const std::string *const *>(a) + std::string(40, 'x');
        return first.compare(**static_cast<const std::string *const *>(b));
    };
    std::vector<const std::string *> places;
    for (auto &word : words) places.push_back(&word);
    qsort(places.data(), places.size(), sizeof places[0], compare);
}

struct Allocates {
    size_t size;
    ~Allocates() { use(std::vector<char>(size)); }
};

APART static void throws(int depth) {
    Allocates at_end{size_t(1000 + depth)};
    if (depth == 0) throw std::runtime_error("a message that is too long to be small, so it is allocated");
    if (depth % 5 == 2) {
        try {
            throws(depth - 1);
        } catch (const std::exception &e) {
            use(std::string(e.what()) + " and more");
            throw std::logic_error(std::string(e.what()) + ", thrown again");
        }
    }
    throws(depth - 1);
}

static void exceptions() {
    for (int depth = 0; depth < 12; depth++) {
        try {
            throws(depth);
        } catch (const std::exception &e) {
            use(std::make_shared<std::string>(e.what()));
        }
    }
}

APART static size_t recursion(int depth, size_t bytes) {
    auto *room = static_cast<char *>(alloca(bytes));
    memset(room, depth, bytes);
    auto kept = std::make_unique<char[]>(bytes + size_t(room[0]) % 3);
    return depth ? recursion(depth - 1, bytes * 7 % 129 + 1) + size_t(kept[0]) : 0;
}

struct alignas(64) Wide {
    double of[8];
};
APART static double aligned(int depth, const Wide &wide) {
    Wide local = wide;
    local.of[depth % 8] += depth;
    use(local);
    auto kept = std::make_unique<int>(depth);
    return depth ? aligned(depth - 1, local) + *kept : local.of[0];
}

struct Generator {
    struct promise_type {
        int value = 0;
        Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int next) { return value = next, std::suspend_always{}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};
static Generator counts(int to) {
    for (int i = 0; i < to; i++) {
        std::string text(size_t(50 + i), 'c');
        co_yield int(text.size());
    }
}
static void coroutines() {
    auto generator = counts(10);
    while (generator.handle.resume(), !generator.handle.done()) use(generator.handle.promise());
    generator.handle.destroy();
}

static std::atomic<int> handled;
static void on_signal(int) {
    handled++;
    use(std::vector<char>(700));
}

// Interrupted anywhere in code that neither allocates nor locks.
APART static unsigned computes(unsigned rounds) {
    unsigned sum = rounds;
    for (unsigned i = 0; i < rounds; i++) sum = sum * 1664525 + (sum >> 7 ^ i);
    return rounds > 100 ? sum + computes(rounds / 2) : sum;
}

static void signals() {
    static char stack[256 << 10];
    for (int flags : {0, SA_ONSTACK}) {
        stack_t alternate = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
        sigaltstack(&alternate, nullptr);
        struct sigaction action = {};
        action.sa_handler = on_signal, action.sa_flags = flags | SA_RESTART;
        sigaction(SIGALRM, &action, nullptr);
        raise(SIGALRM);
        itimerval often = {{0, 500}, {0, 500}}, never = {};
        int enough = handled + 50;
        setitimer(ITIMER_REAL, &often, nullptr);
        while (handled < enough) sink = computes(20000);
        setitimer(ITIMER_REAL, &never, nullptr);
    }
    signal(SIGALRM, SIG_IGN);
}

static void everything() {
    virtual_calls(), functions(), sorts(), exceptions(), coroutines();
    sink = unsigned(recursion(200, 40));
    sink = unsigned(aligned(30, {}));
    std::variant<int, std::string> either = std::string(80, 'v');
    sink = unsigned(std::visit([](auto v) { return sizeof v + sizeof(std::vector<decltype(v)>(20)); }, either));
}

int main(int, char **arguments) {
    void *first[4];
    backtrace(first, 4); // loads what it needs
    everything();
    signals();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back(everything);
    for (auto &thread : threads) thread.join();
    std::async(std::launch::async, everything).get();
    std::once_flag once;
    std::call_once(once, [] { use(std::vector<int>(33)); });
    for (int times = 0; times < 3; times++) {
        void *library = dlopen(arguments[2], RTLD_NOW);
        if (!library) return 2;
        reinterpret_cast<void (*)(void (*)())>(dlsym(library, "plugged_in"))(virtual_calls);
        dlclose(library);
    }
    int file = open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    size_t bytes = used * sizeof *notes;
    return write(file, notes, bytes) == ssize_t(bytes) ? 0 : 3;
}
