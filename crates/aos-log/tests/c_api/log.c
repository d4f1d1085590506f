/* Writes a log by the C functions and counts the calls of malloc meanwhile. */
#include "heapscribe_messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
static unsigned long calls;

void *malloc(size_t bytes) { return calls++, __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return calls++, __libc_calloc(count, bytes); }
void *realloc(void *start, size_t bytes) { return calls++, __libc_realloc(start, bytes); }

static void check(int code, const char *what) {
    if (code) {
        fprintf(stderr, "%s: %s\n", what, heapscribe_messages_error(code));
        exit(1);
    }
}

int main(int argc, char **argv) {
    static const uint8_t boot[16] = {1}, other[16] = {2};
    static unsigned char data[1000];
    if (argc != 4) return 2;
    for (int i = 0; i < 1000; i++) data[i] = (unsigned char)(i * 37 + 11 + (i >> 8));

    heapscribe_messages_settings settings;
    heapscribe_messages_settings_default(&settings);
    int error = -1;
    if (heapscribe_messages_open(&settings, &error) || error != HEAPSCRIBE_MESSAGES_INVALID) return 3;
    settings.base = argv[1];
    settings.encoder = (uint32_t)atoi(argv[2]);
    settings.layout = (uint32_t)atoi(argv[3]);
    settings.nodes = 2;
    settings.channels = 64;
    settings.data_bytes_max = sizeof data;
    settings.name = "log.c";
    settings.node = "pi1";
    settings.log_event_uuid = other;
    settings.logger_version = "7";
    heapscribe_messages_writer *writer = heapscribe_messages_open(&settings, &error);
    check(error, "open");

    unsigned long before = calls;
    check(heapscribe_messages_set_start(writer, 1, 2), "set_start");
    heapscribe_messages_fields fields;
    heapscribe_messages_fields_default(&fields);
    fields.channel_index = 42;
    fields.queue_index = 1234567;
    fields.remote_queue_index = 7654321;
    fields.monotonic_sent_time = 123456789012345;
    fields.realtime_sent_time = 1665983963123456789;
    fields.monotonic_remote_time = 123456780000001;
    fields.realtime_remote_time = 1665983963000000001;
    fields.monotonic_remote_transmit_time = 123456781111111;
    fields.data = data;
    for (int part = 0; part < 2; part++) {
        for (fields.data_bytes = 0; fields.data_bytes <= sizeof data; fields.data_bytes += 8)
            check(heapscribe_messages_write(writer, HEAPSCRIBE_MESSAGES_MESSAGE, &fields, boot,
                                            heapscribe_messages_now()), "write");
        check(heapscribe_messages_update_remote(writer, 1, other, &fields, 1), "update_remote");
        fields.data_bytes = 13;
        check(heapscribe_messages_write(writer, HEAPSCRIBE_MESSAGES_DELIVERY_TIME, &fields, boot,
                                        heapscribe_messages_now()), "write");
        check(heapscribe_messages_flush_if_due(writer, heapscribe_messages_now()), "flush_if_due");
        check(heapscribe_messages_rotate(writer), "rotate");
    }
    fields.data_bytes = sizeof data + 64;
    if (heapscribe_messages_write(writer, HEAPSCRIBE_MESSAGES_MESSAGE, &fields, boot, 0) != HEAPSCRIBE_MESSAGES_TOO_LARGE) return 4;
    fields.data_bytes = 1;
    int kind = HEAPSCRIBE_MESSAGES_MESSAGE_AND_DELIVERY_TIME;
    error = heapscribe_messages_write(writer, kind, &fields, boot, heapscribe_messages_now());
    if (error != (settings.layout == 2022 ? HEAPSCRIBE_MESSAGES_OK : HEAPSCRIBE_MESSAGES_NO_SUCH_KIND)) return 5;
    if (heapscribe_messages_write(writer, 9, &fields, boot, 0) != HEAPSCRIBE_MESSAGES_INVALID) return 6;
    if (heapscribe_messages_write(writer, 0, &fields, NULL, 0) != HEAPSCRIBE_MESSAGES_INVALID) return 7;
    check(heapscribe_messages_flush(writer), "flush");
    heapscribe_messages_statistics statistics;
    check(heapscribe_messages_get_statistics(writer, &statistics), "get_statistics");
    unsigned long during = calls - before;
    check(heapscribe_messages_close(writer), "close");
    printf("%lu %llu %llu %llu\n", during, (unsigned long long)statistics.messages,
           (unsigned long long)statistics.dropped_messages, (unsigned long long)statistics.parts);
    return 0;
}
