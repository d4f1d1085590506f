// A control loop that must not call the heap, and does once.
#include <stdio.h>
#include <stdlib.h>

#include "heapscribe.h"

static double *history;

static double filter(double sample, int step) {
    if (step == 70) history = realloc(history, 64 * sizeof *history);  // grows its history
    return sample * 0.5;
}

static double control_step(int step) {
    heapscribe_section_begin("loop");
    double output = filter(step, step);
    heapscribe_section_end("loop");
    return output;
}

int main(void) {
    history = malloc(32 * sizeof *history);
    heapscribe_mark("initialized");
    double sum = 0;
    for (int step = 0; step < 100; step++) sum += control_step(step);
    printf("%.1f\n", sum);
    free(history);
    return 0;
}
