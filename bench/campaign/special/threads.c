/* Threads: many, small, cancelled, detached, with destructors of their own. */
#include "parts.h"
#include <limits.h>
#include <semaphore.h>
#include <threads.h>

static void one_after_another(int argc, char **argv) {
    unsigned long sum = 0;
    for (int i = 0; i < 400; i++) sum += end_thread(begin_thread(in_thread, (void *)50, 0));
    said("sum", (long)sum);
}

static pthread_barrier_t all_there;
static void *meets(void *rounds) {
    unsigned long sum = work((unsigned)(uintptr_t)rounds);
    pthread_barrier_wait(&all_there);
    return (void *)(uintptr_t)(sum + work(30));
}

static void all_at_once(int argc, char **argv) {
    enum { THREADS = 300 };
    static pthread_t threads[THREADS];
    unsigned long sum = 0;
    pthread_barrier_init(&all_there, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) threads[i] = begin_thread(meets, (void *)40, 64 << 10);
    for (int i = 0; i < THREADS; i++) sum += end_thread(threads[i]);
    said("sum", (long)sum);
}

static void small_stacks(int argc, char **argv) {
    unsigned long sum = 0;
    for (int i = 0; i < 50; i++) sum += end_thread(begin_thread(in_thread, (void *)50, PTHREAD_STACK_MIN));
    said("sum", (long)sum);
}

static pthread_key_t key;
static long destroyed;
static void destroys(void *block) {
    destroyed++;
    free(block);
    work(10);
    if (destroyed % 3 != 0) pthread_setspecific(key, malloc(33));
}
static void *has_specific(void *unused) {
    pthread_setspecific(key, malloc(100));
    return unused;
}
static void destructors(int argc, char **argv) {
    pthread_key_create(&key, destroys);
    for (int i = 0; i < 40; i++) end_thread(begin_thread(has_specific, NULL, 0));
    said("destroyed", destroyed);
}

static sem_t ready;
static void cleans(void *block) {
    free(block);
    destroyed += (long)(work(10) % 2) + 1;
}
static void *waits(void *unused) {
    pthread_cleanup_push(cleans, malloc(55));
    sem_post(&ready);
    for (;;) pause();
    pthread_cleanup_pop(1);
    return unused;
}
static void cancelled(int argc, char **argv) {
    sem_init(&ready, 0, 0);
    for (int i = 0; i < 30; i++) {
        pthread_t thread = begin_thread(waits, NULL, 0);
        sem_wait(&ready);
        pthread_cancel(thread);
        said("cancelled", (void *)end_thread(thread) == PTHREAD_CANCELED);
    }
    said("cleaned", destroyed);
}

static void *detaches(void *unused) {
    pthread_detach(pthread_self());
    work(100);
    sem_post(&ready);
    return unused;
}
static void detached(int argc, char **argv) {
    sem_init(&ready, 0, 0);
    for (int i = 0; i < 100; i++) begin_thread(detaches, NULL, 0);
    for (int i = 0; i < 100; i++) sem_wait(&ready);
    said("detached", 100);
}

static void *slots[64];
static sem_t filled, emptied;
static void *frees(void *count) {
    unsigned long sum = 0;
    for (long i = 0; i < (long)count; i++) {
        sem_wait(&filled);
        sum += *(unsigned char *)slots[i % 64];
        free(slots[i % 64]);
        sem_post(&emptied);
    }
    return (void *)sum;
}
static void handed_over(int argc, char **argv) {
    sem_init(&filled, 0, 0);
    sem_init(&emptied, 0, 64);
    pthread_t thread = begin_thread(frees, (void *)20000, 0);
    for (int i = 0; i < 20000; i++) {
        sem_wait(&emptied);
        slots[i % 64] = memset(malloc((size_t)(i % 500 + 1)), i, (size_t)(i % 500 + 1));
        sem_post(&filled);
    }
    said("sum", (long)end_thread(thread));
}

static int of_c11(void *argument) { return (int)(work(100) % 1000); }
static void c11(int argc, char **argv) {
    int sum = 0;
    for (int i = 0; i < 20; i++) {
        thrd_t thread;
        int result = 0;
        thrd_create(&thread, of_c11, NULL);
        thrd_join(thread, &result);
        sum += result;
    }
    said("sum", sum);
}

static void one_cpu(int argc, char **argv) {
    cpu_set_t one;
    struct sched_param none = {0};
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setscheduler(0, SCHED_BATCH, &none);
    all_at_once(argc, argv);
}

static const struct part parts[] = {
    {"one_after_another", one_after_another}, {"all_at_once", all_at_once}, {"small_stacks", small_stacks},
    {"destructors", destructors}, {"cancelled", cancelled}, {"detached", detached},
    {"handed_over", handed_over}, {"c11", c11}, {"one_cpu", one_cpu},
};
MAIN(parts)
