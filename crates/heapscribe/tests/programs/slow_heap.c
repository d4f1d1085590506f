/* glibc's heap, but slow for blocks of known sizes, and with a signal in the midst of one free. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);

static void *slow_to_go, *with_a_signal;

static void nap(void) {
    struct timespec time = {0, 5000000};
    nanosleep(&time, NULL);
}

void *malloc(size_t size) {
    void *block = __libc_malloc(size);
    if (size == 4242) nap();
    if (size == 2424) slow_to_go = block;
    if (size == 2425) with_a_signal = block;
    return block;
}

void free(void *block) {
    if (block && block == slow_to_go) {
        slow_to_go = NULL;
        nap();
    }
    if (block && block == with_a_signal) {
        with_a_signal = NULL;
        raise(SIGUSR1);
    }
    __libc_free(block);
}
