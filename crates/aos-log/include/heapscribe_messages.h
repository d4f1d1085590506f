/* A message log in the format of AOS, written without a heap.
 *
 * heapscribe_messages_open takes all memory that will ever be needed; after it, nothing here allocates until
 * heapscribe_messages_close. A writer is used by one thread at a time. No function keeps a pointer that it is
 * given, but for the writer itself.
 *
 *     heapscribe_messages_settings settings;
 *     heapscribe_messages_settings_default(&settings);
 *     settings.base = "/var/log/robot";             // files robot.part0.bfbs, robot.part1.bfbs, ...
 *     int error;
 *     heapscribe_messages_writer *writer = heapscribe_messages_open(&settings, &error);
 *     if (!writer) die(heapscribe_messages_error(error));
 *     heapscribe_messages_fields fields;
 *     heapscribe_messages_fields_default(&fields);
 *     fields.monotonic_sent_time = heapscribe_messages_now();
 *     fields.data = bytes, fields.data_bytes = count;
 *     error = heapscribe_messages_write(writer, HEAPSCRIBE_MESSAGES_MESSAGE, &fields, boot, heapscribe_messages_now());
 *     ...
 *     error = heapscribe_messages_close(writer);
 *
 * Link with -lheapscribe_aos_log. Times are nanoseconds. */
#ifndef HEAPSCRIBE_MESSAGES_H
#define HEAPSCRIBE_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return: 0 when all is well. */
enum {
    HEAPSCRIBE_MESSAGES_OK = 0,
    HEAPSCRIBE_MESSAGES_INVALID = 1,      /* a null pointer, or a value that is none of those named here */
    HEAPSCRIBE_MESSAGES_OUT_OF_SPACE = 2, /* stays: nothing more is written; what was written is readable */
    HEAPSCRIBE_MESSAGES_IO = 3,           /* stays, too */
    HEAPSCRIBE_MESSAGES_ENCODE = 4,       /* the codec refused; stays, too */
    HEAPSCRIBE_MESSAGES_TOO_LARGE = 5,    /* more data than settings said; only this message is left out */
    HEAPSCRIBE_MESSAGES_NO_SUCH_KIND = 6, /* the layout has no records of that kind */
};

/* What the code says, for people. Never null. */
const char *heapscribe_messages_error(int code);

enum { HEAPSCRIBE_MESSAGES_LAYOUT_2022 = 2022, HEAPSCRIBE_MESSAGES_LAYOUT_2024 = 2024 };

enum {
    HEAPSCRIBE_MESSAGES_PLAIN = 0,
    HEAPSCRIBE_MESSAGES_SNAPPY = 1,          /* as AOS frames it */
    HEAPSCRIBE_MESSAGES_SNAPPY_STANDARD = 2, /* as others read it */
    HEAPSCRIBE_MESSAGES_XZ = 3,              /* level 0 to 9 */
    HEAPSCRIBE_MESSAGES_ZSTD = 4,            /* level 1 to 22; AOS cannot read it */
};

typedef struct {
    const char *base;                 /* what the files' names begin with; must be set, in UTF-8 */
    uint32_t layout;                  /* HEAPSCRIBE_MESSAGES_LAYOUT_2024 */
    uint32_t encoder;                 /* HEAPSCRIBE_MESSAGES_PLAIN */
    int32_t level;                    /* 3 */
    uint32_t nodes;                   /* 1 */
    uint32_t node_index;              /* 0: the node that the file is about */
    uint32_t channels;                /* 1: channels with statistics */
    uint64_t data_bytes_max;          /* 65536: the most data that a message will have */
    int64_t max_out_of_order_ns;      /* 300 ms */
    uint64_t flush_bytes;             /* 128 KiB */
    int64_t flush_period_ns;          /* 5 s */
    /* The header. AOS opens no log without log_event_uuid and a configuration, and none with a node and without
     * logger_node. All is copied; what is left out is not said, but where a value stands behind it. */
    const char *name;                     /* null */
    const char *node;                     /* null; needed when there are several nodes */
    const char *configuration_sha256;     /* null: names a file <sha256>.bfbs that AOS wrote, in place of configuration */
    const char *logger_node;              /* null: node */
    const char *logger_sha1;              /* null */
    const char *logger_version;           /* null */
    const uint8_t *log_event_uuid;        /* 16 bytes, the same in all files of a log; null: a random one */
    const uint8_t *log_start_uuid;        /* 16 bytes; null: a random one */
    const uint8_t *logger_instance_uuid;  /* 16 bytes; null: a random one */
    const uint8_t *logger_node_boot_uuid; /* 16 bytes; null: this boot's */
    const void *configuration;            /* a finished flatbuffer of aos.Configuration; null: one with so many channels */
    uint64_t configuration_bytes;         /* 0 */
    int64_t logger_start_monotonic_ns;    /* INT64_MIN */
    int64_t logger_start_realtime_ns;     /* INT64_MIN */
} heapscribe_messages_settings;

/* Fills in what stands behind each field above; base and texts are null. */
void heapscribe_messages_settings_default(heapscribe_messages_settings *settings);

typedef struct heapscribe_messages_writer heapscribe_messages_writer;

/* A writer, or null; then *error says why, if error is not null. No file is made before the first message. */
heapscribe_messages_writer *heapscribe_messages_open(const heapscribe_messages_settings *settings, int *error);

/* Kinds of records. */
enum {
    HEAPSCRIBE_MESSAGES_MESSAGE = 0,
    HEAPSCRIBE_MESSAGES_DELIVERY_TIME = 1,
    HEAPSCRIBE_MESSAGES_MESSAGE_AND_DELIVERY_TIME = 2, /* layout of 2022 only */
    HEAPSCRIBE_MESSAGES_REMOTE_MESSAGE = 3,
    HEAPSCRIBE_MESSAGES_REMOTE_TIMESTAMP = 4,
};

/* What a record can say; a kind writes those that it has. */
typedef struct {
    uint32_t channel_index;
    uint32_t queue_index;
    uint32_t remote_queue_index;
    int64_t monotonic_sent_time;
    int64_t realtime_sent_time;
    int64_t monotonic_remote_time;
    int64_t realtime_remote_time;
    int64_t monotonic_timestamp_time;
    int64_t monotonic_remote_transmit_time;
    const void *data;
    uint64_t data_bytes;
} heapscribe_messages_fields;

/* Each field at the default of the format: 0, or "not known". */
void heapscribe_messages_fields_default(heapscribe_messages_fields *fields);

/* Writes a message. boot has the 16 bytes of the boot id of the node that the file is about: when it is another
 * than before, another sequence of parts begins. start_ns is when the message began to be handled. */
int heapscribe_messages_write(heapscribe_messages_writer *writer, int kind,
                              const heapscribe_messages_fields *fields, const uint8_t boot[16], int64_t start_ns);

/* Says what a message tells of another node, before it is written: the header has to say it first. */
int heapscribe_messages_update_remote(heapscribe_messages_writer *writer, uint32_t node, const uint8_t boot[16],
                                      const heapscribe_messages_fields *fields, int is_reliable);

/* Says when the log began. If that is something new, the next message begins a part. */
int heapscribe_messages_set_start(heapscribe_messages_writer *writer, int64_t monotonic_ns, int64_t realtime_ns);

/* Lets the next message begin a part. */
int heapscribe_messages_rotate(heapscribe_messages_writer *writer);

/* Writes what was not written yet, if it is time to: for when no message comes for a while. */
int heapscribe_messages_flush_if_due(heapscribe_messages_writer *writer, int64_t now_ns);

/* Writes everything, what a codec still holds as well; the file becomes a little larger. */
int heapscribe_messages_flush(heapscribe_messages_writer *writer);

typedef struct {
    uint64_t messages;
    uint64_t dropped_messages;
    uint64_t record_bytes; /* before compression, headers too */
    uint64_t file_bytes;
    uint64_t parts;
    uint64_t copy_total_ns;
    uint64_t copy_max_ns;
    uint64_t encode_total_ns;
    uint64_t encode_max_ns;
    uint64_t write_total_ns;
    uint64_t write_max_ns;
    uint64_t delay_max_ns; /* from a message's sent time to its copy */
} heapscribe_messages_statistics;

int heapscribe_messages_get_statistics(const heapscribe_messages_writer *writer,
                                       heapscribe_messages_statistics *statistics);

/* Ends the part that is open and frees the writer, whatever it returns. */
int heapscribe_messages_close(heapscribe_messages_writer *writer);

/* CLOCK_MONOTONIC. */
int64_t heapscribe_messages_now(void);

#ifdef __cplusplus
}
#endif

#endif
