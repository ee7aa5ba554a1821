#include "protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { HUGE_PAGE = 2 << 20 };

int parse(Request *request, char *line)
{
    request->n = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *field = strtok(line, "\t"); field; field = strtok(NULL, "\t")) {
        char *equals = strchr(field, '=');
        if (!equals || request->n == MAX_FIELDS)
            return 0;
        *equals = '\0';
        request->key[request->n] = field;
        request->value[request->n++] = equals + 1;
    }
    return request->n > 0;
}

const char *text(const Request *request, const char *key, const char *fallback)
{
    for (int i = 0; i < request->n; i++)
        if (!strcmp(request->key[i], key) && *request->value[i])
            return request->value[i];
    return fallback;
}

double number(const Request *request, const char *key, double fallback)
{
    const char *value = text(request, key, NULL);
    return value ? strtod(value, NULL) : fallback;
}

int numbers(const Request *request, const char *key, size_t *out)
{
    int n = 0;
    const char *at = text(request, key, "");
    while (*at && n < MAX_RANK) {
        char *end;
        out[n] = strtoull(at, &end, 10);
        if (end == at)
            break;
        n++;
        at = *end == ',' ? end + 1 : end;
    }
    return n;
}

static double seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

Clock start(void)
{
    Clock clock = {seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};
    return clock;
}

void stop(const Clock *clock, Answer *answer)
{
    answer->wall = seconds(CLOCK_MONOTONIC) - clock->wall;
    answer->cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - clock->cpu;
}

uint64_t checksum(const void *bytes, size_t n)
{
    uint64_t sum = 0, word;
    size_t words = n / 8, rest = n % 8;
    for (size_t i = 0; i < words; i++) {
        memcpy(&word, (const char *)bytes + 8 * i, 8);
        sum += word * (2 * i + 1);
    }
    word = 0;
    memcpy(&word, (const char *)bytes + 8 * words, rest);
    return sum + word * (2 * words + 1);
}

void *warm(size_t bytes)
{
    static char *memory;
    static size_t size;
    if (bytes > size) {
        free(memory);
        size = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        memory = aligned_alloc(HUGE_PAGE, size);
        if (!memory) {
            fprintf(stderr, "no memory\n");
            exit(1);
        }
        /* As NumPy does with large arrays. */
        madvise(memory, size, MADV_HUGEPAGE);
        memset(memory, 1, size);
    }
    return memory;
}

const void *load(const char *path, size_t *bytes)
{
    static char *name, *memory;
    static size_t size;
    if (!name || strcmp(name, path)) {
        FILE *file = fopen(path, "rb");
        if (!file || fseek(file, 0, SEEK_END))
            return NULL;
        size = (size_t)ftell(file);
        rewind(file);
        free(memory);
        free(name);
        name = NULL;
        memory = malloc(size);
        size_t got = memory ? fread(memory, 1, size, file) : 0;
        fclose(file);
        if (got != size)
            return NULL;
        name = strdup(path);
    }
    *bytes = size;
    return memory;
}

void answer(const Answer *a)
{
    printf("{\"wall\": %.9f, \"cpu\": %.9f, \"reads\": %llu, \"bytes\": %llu", a->wall, a->cpu,
           (unsigned long long)a->reads, (unsigned long long)a->bytes);
    if (a->has_checksum)
        printf(", \"checksum\": \"%016llx\"", (unsigned long long)a->checksum);
    printf("}\n");
}

void fail(const char *what, const char *why)
{
    const char *parts[] = {what, ": ", why};
    printf("{\"error\": \"");
    for (int i = 0; i < 3; i++)
        for (const char *c = parts[i]; *c; c++)
            putchar(*c == '"' || *c == '\\' || (unsigned char)*c < ' ' ? '\'' : *c);
    printf("\"}\n");
}
