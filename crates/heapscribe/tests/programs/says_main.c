// A program that calls a library that says what it does.
void in_library(void);

int main(void) {
    in_library();
    return 0;
}
