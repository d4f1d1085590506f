// Looks words up, and builds a key for each look-up that is thrown away at once.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *words[] = {"Alpha", "Beta", "Gamma", "Delta", "Epsilon"};

static char *lower_case(const char *word) {
    char *key = strdup(word);
    for (char *c = key; *c; c++) *c = tolower((unsigned char)*c);
    return key;
}

static int look_up(const char *word) {
    char *key = lower_case(word);
    int found = -1;
    for (int i = 0; i < 5 && found < 0; i++) {
        char *other = lower_case(words[i]);
        if (!strcmp(key, other)) found = i;
        free(other);
    }
    free(key);
    return found;
}

int main(void) {
    int sum = 0;
    for (int i = 0; i < 20000; i++) sum += look_up(words[i % 5]);
    printf("%d\n", sum);
    return 0;
}
