// What stacks_lazy.c calls.
typedef void Call(void *);

void other(Call *call, void *tree) {
    volatile char frame[24];
    frame[0] = 1;
    call(tree);
    frame[1] = frame[0];
}
