// Serves requests until it is told to stop: something to look into while it runs.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;
static void stop(int signal) { stopped = signal; }

struct connection {
    struct connection *next;
    char buffer[16384];
};
static struct connection *connections;

static void accept_connection(void) {
    struct connection *connection = malloc(sizeof *connection);
    memset(connection, 0, sizeof *connection);
    connection->next = connections;
    connections = connection;
}

static void log_line(int number) {
    char *line = malloc(128);
    snprintf(line, 128, "request %d", number);
    free(line);
}

int main(void) {
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    for (int i = 0; i < 200; i++) accept_connection();
    for (int number = 0; !stopped; number++) {
        log_line(number);
        usleep(1000);
    }
    return 0;
}
