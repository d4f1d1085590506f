// Reads a table, sorts it by another column, and keeps both copies until the end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    int id, price;
    char name[24];
};

static struct row *load_table(int rows) {
    struct row *table = malloc(rows * sizeof *table);
    for (int i = 0; i < rows; i++) {
        table[i].id = i;
        table[i].price = i * 7919 % 10007;
        snprintf(table[i].name, sizeof table[i].name, "item %d", i);
    }
    return table;
}

static int by_price(const void *a, const void *b) {
    return ((const struct row *)a)->price - ((const struct row *)b)->price;
}

static struct row *sorted_copy(const struct row *table, int rows) {
    struct row *copy = malloc(rows * sizeof *copy);
    memcpy(copy, table, rows * sizeof *copy);
    qsort(copy, rows, sizeof *copy, by_price);
    return copy;
}

static char *render(const struct row *table, int rows) {
    size_t size = rows * 48, used = 0;
    char *text = malloc(size);
    for (int i = 0; i < rows; i++) used += snprintf(text + used, size - used, "%s;%d\n", table[i].name, table[i].price);
    return text;
}

int main(void) {
    enum { ROWS = 50000 };
    struct row *table = load_table(ROWS);
#ifdef IN_PLACE
    qsort(table, ROWS, sizeof *table, by_price);
    struct row *sorted = table;
#else
    struct row *sorted = sorted_copy(table, ROWS);
#endif
    char *text = render(sorted, ROWS);
    printf("%zu bytes of text\n", strlen(text));
    free(text);
    if (sorted != table) free(sorted);
    free(table);
    return 0;
}
