/* The protocol of the worker processes; crates/ncforge-bench/src/worker.rs describes it. */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_FIELDS = 32, MAX_RANK = 8 };

/* One request: fields `key=value`, as they stand in the line. */
typedef struct {
    int n;
    const char *key[MAX_FIELDS];
    const char *value[MAX_FIELDS];
} Request;

/* What a task took and did. */
typedef struct {
    double wall, cpu;
    uint64_t reads, bytes, checksum;
    int has_checksum;
} Answer;

/* Both clocks. */
typedef struct {
    double wall, cpu;
} Clock;

/* Takes a line apart, in place. 0: it is none of ours. */
int parse(Request *request, char *line);
/* A field; `fallback` when it is missing or empty. */
const char *text(const Request *request, const char *key, const char *fallback);
double number(const Request *request, const char *key, double fallback);
/* Numbers separated by commas, into `out`; how many. */
int numbers(const Request *request, const char *key, size_t *out);

Clock start(void);
void stop(const Clock *clock, Answer *answer);

/* The checksum of the protocol. */
uint64_t checksum(const void *bytes, size_t n);

/* Memory that stays from task to task, on huge pages, written to once. */
void *warm(size_t bytes);
/* The bytes of a file; the one loaded last stays. */
const void *load(const char *path, size_t *bytes);

void answer(const Answer *answer);
void fail(const char *what, const char *why);

#endif
