// What `record` has to pass on: says [code N | signal N | wait | stuck]. `wait` counts the signals it gets, and
// adds a byte to the file SEEN for each.
#include "counted.h"
#include <fcntl.h>

static volatile sig_atomic_t got[65];
static int seen = -1;
static void on(int s) { got[s]++; if (write(seen, "x", 1) < 0) return; }

int main(int argc, char **argv) {
    void *p = malloc(100);
    int n = argc > 2 ? atoi(argv[2]) : 0;
    free(p);
    if (argc < 2) { puts("nothing to do"); return 0; }
    if (!strcmp(argv[1], "code")) return n;
    if (!strcmp(argv[1], "signal")) { raise(n); return 98; }
    if (getenv("SEEN")) seen = open(getenv("SEEN"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (int s = 1; s < 32; s++) if (s != SIGKILL && s != SIGSTOP && s != SIGALRM && s != SIGCHLD) signal(s, on);
    alarm(50);
    puts("ready"); fflush(stdout);
    // Ends 300 ms after USR2, so that a signal that came twice is counted twice.
    while (!got[SIGUSR2]) usleep(1000);
    for (int i = 0; i < 300; i++) usleep(1000);
    printf("TERM %d INT %d HUP %d USR1 %d USR2 %d\n", (int)got[SIGTERM], (int)got[SIGINT], (int)got[SIGHUP], (int)got[SIGUSR1], (int)got[SIGUSR2]);
    return 11;
}
