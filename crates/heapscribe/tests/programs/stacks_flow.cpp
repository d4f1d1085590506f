// Control flow: recursion, exceptions, callbacks, jumps, tail calls, hand-made frames.
#include "stacks_shapes.h"
#include <csetjmp>
#include <cstdlib>
#include <exception>
#include <memory>
#include <pthread.h>
#include <stdexcept>
#include <string>

namespace {

Tree tree(uint64_t seed, unsigned calls) { return Tree{seed * 2654435761u + 1, 0, calls, 0}; }

// Random trees, in the main thread and three others.
void *trees_of(void *seed) {
    Tree t = tree(reinterpret_cast<uintptr_t>(seed), 4000);
    while (t.calls > 0) step(&t, 4 + int(draw(&t, 30)));
    return reinterpret_cast<void *>(t.sum);
}

uint64_t trees() {
    pthread_t threads[3];
    for (uintptr_t i = 0; i < 3; i++) pthread_create(&threads[i], nullptr, trees_of, reinterpret_cast<void *>(i));
    uint64_t sum = uint64_t(trees_of(reinterpret_cast<void *>(9)));
    for (pthread_t thread : threads) {
        void *result;
        pthread_join(thread, &result);
        sum = sum * 31 + uint64_t(result);
    }
    return sum;
}

// A block of its own size at the deepest frame, others all the way down and up.
constexpr int DEEPEST = 3000;
constexpr size_t DEEPEST_BYTES = 77777;

extern "C" KEEP void down(Tree *t, int left) {
    volatile char frame[24] = {char(left)};
    if (left % 4 == 0) block(t, 10 + size_t(left % 100));
    if (left > 0) down(t, left - 1);
    else block(t, DEEPEST_BYTES);
    if (left % 16 == 0) block(t, 10 + size_t(left % 90));
    t->sum += uint64_t(frame[0]);
}

uint64_t recursion() {
    Tree t = tree(1, 0);
    down(&t, DEEPEST);
    down(&t, 500);
    return t.sum;
}

// Deeper than what is recorded of a stack, and compared of it: half of it ends and comes again in other frames,
// of the same size or not, and then a part in the middle that is not compared when all is there.
constexpr size_t VERY_DEEP_BYTES = 88888;

struct Leg {
    int depth;
    bool is_other;
};

extern "C" KEEP void very_deep(Tree *t, int left, const Leg *legs, int calls);

extern "C" KEEP void very_deep_other(Tree *t, int left, const Leg *legs, int calls) {
    volatile char frame[24] = {char(left)};
    very_deep(t, left - 1, legs, calls);
    t->sum += uint64_t(frame[0]) * 3;
}

extern "C" KEEP void very_deep_wide(Tree *t, int left, const Leg *legs, int calls) {
    volatile char frame[20000];
    frame[left % 20000] = char(left);
    very_deep(t, left - 1, legs, calls);
    t->sum += uint64_t(frame[left % 20000]);
}

extern "C" KEEP void very_deep(Tree *t, int left, const Leg *legs, int calls) {
    volatile char frame[24] = {char(left)};
    if (left % 500 == 3) block(t, 10 + size_t(left % 100));
    if (left == 0) {
        for (int i = 0; i < calls; i++) block(t, VERY_DEEP_BYTES);
    } else if (left != legs->depth) {
        very_deep(t, left - 1, legs, calls);
    } else {
        for (int turn = 0; turn < 3; turn++) {
            if (turn == 1 && legs->is_other) very_deep_wide(t, left, legs + 1, calls);
            else if (turn == 1) very_deep_other(t, left, legs + 1, calls);
            else very_deep(t, left - 1, legs + 1, calls);
        }
    }
    if (left % 700 == 3) block(t, 10 + size_t(left % 90));
    t->sum += uint64_t(frame[0]);
}

uint64_t very_deep_recursion() {
    static const Leg LEGS[] = {{7000, false}, {3500, true}, {800, false}, {10, false}, {-1, false}};
    Tree t = tree(11, 0);
    very_deep(&t, 9000, LEGS, 2);
    return t.sum;
}

struct Allocates {
    Tree *t;
    size_t size;
    ~Allocates() { block(t, size); }
};

extern "C" KEEP void throws(Tree *t, int depth, int end) {
    Allocates guard{t, size_t(20 + depth)};
    auto owned = std::make_unique<std::string>(size_t(30 + depth), 'x');
    if (depth == 0 && end == 0) throw std::runtime_error("from the deepest frame, long enough for the heap");
    if (depth == 0) throw 7;
    if (depth % 50 == 0) {
        try {
            throws(t, depth - 1, end);
        } catch (const std::exception &) {
            block(t, 4444);
            throw; // on its way again, from here
        }
    } else if (depth % 9 == 0) {
        Tree below = tree(uint64_t(depth), 1);
        step(&below, 3);
        t->sum += below.sum;
        throws(t, depth - 1, end);
    } else {
        throws(t, depth - 1, end);
    }
    t->sum += owned->size();
}

uint64_t exceptions() {
    Tree t = tree(2, 0);
    for (int round = 0; round < 12; round++) {
        try {
            throws(&t, 120 - round, round % 3);
        } catch (const std::exception &e) {
            t.sum = t.sum * 31 + e.what()[0];
        } catch (int n) {
            t.sum = t.sum * 31 + uint64_t(n);
        }
        block(&t, 3333);
    }
    std::exception_ptr kept;
    try {
        throws(&t, 30, 0);
    } catch (...) {
        kept = std::current_exception();
    }
    try {
        std::rethrow_exception(kept);
    } catch (const std::exception &) {
        block(&t, 3334);
    }
    return t.sum;
}

// Unwound by pthread_exit: the unwinder is at work below each destructor.
extern "C" KEEP void leaves_thread(Tree *t, int depth) {
    Allocates guard{t, size_t(50 + depth)};
    if (depth == 0) pthread_exit(nullptr);
    leaves_thread(t, depth - 1);
    t->sum++;
}

uint64_t forced_unwinding() {
    Tree t = tree(3, 0);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        auto start = [](void *t) -> void * { return leaves_thread(static_cast<Tree *>(t), 60), nullptr; };
        pthread_create(&thread, nullptr, start, &t);
        pthread_join(thread, nullptr);
    }
    return t.sum;
}

Tree sorting;

extern "C" KEEP int compare(const void *a, const void *b) {
    block(&sorting, 1040);
    if (sorting.calls > 0 && draw(&sorting, 8) == 0) step(&sorting, 5);
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

uint64_t callbacks() {
    sorting = tree(4, 300);
    int numbers[500];
    for (int &n : numbers) n = int(draw(&sorting, 1000));
    std::qsort(numbers, 500, sizeof numbers[0], compare);
    for (int n : numbers) sorting.sum = sorting.sum * 31 + uint64_t(n);
    int key = numbers[250];
    sorting.sum += std::bsearch(&key, numbers, 500, sizeof key, compare) != nullptr;
    return sorting.sum;
}

jmp_buf marks[4];

// Jumps to one of the marks up to `mark`: those above it may be in frames that are gone.
extern "C" KEEP void jumps(Tree *t, int depth, unsigned mark) {
    volatile char frame[64] = {char(depth)};
    if (depth == 0) std::longjmp(marks[draw(t, mark + 1)], 1);
    block(t, size_t(16 + depth));
    jumps(t, depth - 1, mark);
    t->sum += uint64_t(frame[0]);
}

// Stacks of other shapes lie each time where the frames were that the jump left.
extern "C" KEEP void marks_from(Tree *t, int mark) {
    volatile char frame[200] = {char(mark)};
    volatile int rounds = 60;
    if (setjmp(marks[mark])) block(t, size_t(1500 + mark));
    if (rounds-- > 0) {
        if (mark < 3) marks_from(t, mark + 1);
        t->calls = 1;
        step(t, int(draw(t, 6)));
        jumps(t, 5 + int(draw(t, 40)), unsigned(mark));
    }
    t->sum += uint64_t(frame[0]);
}

uint64_t long_jumps() {
    Tree t = tree(5, 0);
    marks_from(&t, 0);
    return t.sum;
}

extern "C" KEEP void in_hand_made(Tree *t) {
    block(t, 9000 + t->calls);
    unsigned kept = t->calls;
    t->calls = 3;
    step(t, 4);
    t->calls = kept;
    block(t, 9100 + t->calls);
}

uint64_t hand_made() {
    Tree t = tree(6, 0);
    Through *const all[] = {through_rbx, through_expression, through_moved_return,
                            through_rbp_in_r12, through_pushes, through_dropped_cfi};
    for (int round = 0; round < 30; round++)
        for (unsigned i = 0; i < 6; i++) {
            t.calls = i;
            all[i](in_hand_made, &t);
        }
    return t.sum;
}

constexpr Part PARTS[] = {
    {"trees", trees}, {"recursion", recursion}, {"very_deep_recursion", very_deep_recursion}, {"exceptions", exceptions}, {"forced_unwinding", forced_unwinding},
    {"callbacks", callbacks}, {"long_jumps", long_jumps}, {"hand_made", hand_made}, {nullptr, nullptr},
};

} // namespace

int main(int, char **arguments) { return run_part(PARTS, arguments[1]); }
