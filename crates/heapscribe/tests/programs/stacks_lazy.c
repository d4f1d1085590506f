// A library that calls a function of another, which is there but is not named as needed.
typedef void Call(void *);
void other(Call *call, void *tree);

void calls_other(Call *call, void *tree) {
    volatile char frame[40];
    frame[0] = 1;
    other(call, tree);
    frame[1] = frame[0];
}
