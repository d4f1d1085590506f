// C++: operators, exceptions, what ends with a thread and with the program.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <thread>
#include <vector>

static void said(const char *what, long value) { std::printf("%s %ld\n", what, value); }

static long thrown(int depth) {
    std::string name(static_cast<size_t>(depth) + 30, 'x');
    if (depth == 0) throw std::runtime_error(name);
    return thrown(depth - 1) + static_cast<long>(name.size());
}
static long catches(int rounds) {
    long caught = 0;
    for (int i = 0; i < rounds; i++) try { thrown(i % 30); } catch (const std::exception &e) { caught += static_cast<long>(std::strlen(e.what())); }
    return caught;
}
static void exceptions() {
    std::vector<std::future<long>> all;
    for (int i = 0; i < 8; i++) all.push_back(std::async(std::launch::async, catches, 500));
    long sum = 0;
    for (auto &one : all) sum += one.get();
    said("caught", sum);
}

struct alignas(128) Wide { char bytes[200]; };
static void operators() {
    for (int i = 0; i < 300; i++) {
        delete new int(i);
        delete[] new char[i + 1];
        delete new Wide;
        delete[] new Wide[3];
        delete new (std::nothrow) long(i);
        ::operator delete(::operator new(100, std::align_val_t(64)), std::align_val_t(64));
        ::operator delete(::operator new(77), size_t(77));
    }
    volatile size_t too_much = static_cast<size_t>(PTRDIFF_MAX) - 100;
    said("nothrow", ::operator new(too_much, std::nothrow) == nullptr);
    try { said("thrown", ::operator new(too_much) != nullptr); } catch (const std::bad_alloc &) { said("thrown", 1); }
}

static int handled;
static void handler() { if (++handled == 3) std::set_new_handler(nullptr); }
static void new_handler() {
    volatile size_t too_much = static_cast<size_t>(PTRDIFF_MAX) - 100;
    std::set_new_handler(handler);
    try { ::operator delete(::operator new(too_much)); } catch (const std::bad_alloc &) { said("handled", handled); }
}

struct Ends {
    std::string name = std::string(100, 'e');
    ~Ends() { std::string copy = name + name; ended += static_cast<long>(copy.size()); }
    static inline std::atomic<long> ended;
};
static thread_local Ends of_thread;
static Ends of_program;
static void thread_locals() {
    for (int i = 0; i < 50; i++) std::thread([] { of_thread.name += "x"; }).join();
    said("ended", Ends::ended);
}

static void containers() {
    std::map<std::string, std::vector<std::shared_ptr<int>>> map;
    for (int i = 0; i < 20000; i++) map["key" + std::to_string(i % 700)].push_back(std::make_shared<int>(i));
    long sum = 0;
    for (auto &[key, values] : map) sum += *values.back() + static_cast<long>(key.size());
    said("sum", sum);
    std::pmr::monotonic_buffer_resource arena;
    std::pmr::vector<std::pmr::string> strings(&arena);
    for (int i = 0; i < 5000; i++) strings.emplace_back("a string that is not short at all");
    said("strings", static_cast<long>(strings.size()));
}

int main(int argc, char **argv) {
    const std::map<std::string, void (*)()> parts = {
        {"exceptions", exceptions}, {"operators", operators}, {"new_handler", new_handler},
        {"thread_locals", thread_locals}, {"containers", containers}};
    const auto part = parts.find(argc > 1 ? argv[1] : "");
    if (part == parts.end()) return 2;
    part->second();
}
