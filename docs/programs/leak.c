// A server that forgets one session in ten.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
    char *user;
    char buffer[4096];
};

static struct session *session_open(const char *user) {
    struct session *session = malloc(sizeof *session);
    session->user = strdup(user);
    return session;
}

static void session_close(struct session *session) {
    free(session->user);
    free(session);
}

static int handle_request(int number) {
    char user[32];
    snprintf(user, sizeof user, "user-%d", number);
    struct session *session = session_open(user);
    memset(session->buffer, number, sizeof session->buffer);
    if (number % 10 == 0) return -1;  // the error path: nobody closes the session
    session_close(session);
    return 0;
}

int main(void) {
    int errors = 0;
    for (int number = 0; number < 1000; number++) errors += handle_request(number) < 0;
    fprintf(stderr, "1000 requests, %d errors\n", errors);
    return 0;
}
