/* netcdf-c's worker process: the tasks of crates/ncforge-bench/src/worker.rs by the C API.
 *
 * In C, so that nothing of another language stands between the clock and the library where reads are small. */
#include <fcntl.h>
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"

/* Ends a task that failed; the file stays open, which harms nobody. */
#define TRY(call)                            \
    do {                                     \
        int status_ = (call);                \
        if (status_ != NC_NOERR)             \
            return fail(#call, nc_strerror(status_)); \
    } while (0)

/* Rank, lengths and bytes of a value of a variable. */
typedef struct {
    int rank;
    size_t length[MAX_RANK], size, all;
} Shape;

static int shape_of(int file, int var, Shape *shape)
{
    int status, dims[NC_MAX_VAR_DIMS];
    nc_type type;
    if ((status = nc_inq_var(file, var, NULL, &type, &shape->rank, dims, NULL)))
        return status;
    if (shape->rank > MAX_RANK)
        return NC_EMAXDIMS;
    if ((status = nc_inq_type(file, type, NULL, &shape->size)))
        return status;
    shape->all = shape->size;
    for (int i = 0; i < shape->rank; i++) {
        if ((status = nc_inq_dimlen(file, dims[i], &shape->length[i])))
            return status;
        shape->all *= shape->length[i];
    }
    return NC_NOERR;
}

/* Opens a file, and sets the chunk cache of a variable where the request asks for one. */
static int open_var(const Request *request, int *file, int *var)
{
    int status = nc_open(text(request, "path", ""), NC_NOWRITE, file);
    if (!status)
        status = nc_inq_varid(*file, text(request, "var", "v"), var);
    double cache = number(request, "cache", -1);
    if (!status && cache >= 0)
        status = nc_set_var_chunk_cache(*file, *var, (size_t)cache, (size_t)number(request, "slots", 4133), 0.75f);
    return status;
}

/* read: open, all of a variable, close. */
static void read_all(const Request *request)
{
    Answer result = {.reads = 1};
    Shape shape;
    int file, var;
    TRY(open_var(request, &file, &var));
    TRY(shape_of(file, var, &shape));
    TRY(nc_close(file));
    Clock clock = start();
    TRY(open_var(request, &file, &var));
    void *memory = malloc(shape.all);
    if (!memory)
        return fail("read", "no memory");
    TRY(nc_get_var(file, var, memory));
    TRY(nc_close(file));
    stop(&clock, &result);
    result.bytes = shape.all;
    if ((result.has_checksum = number(request, "check", 0) == 1))
        result.checksum = checksum(memory, shape.all);
    free(memory);
    answer(&result);
}

/* slabs: open, one read after the other into one warm buffer, close. */
static void read_slabs(const Request *request)
{
    Answer result = {.has_checksum = number(request, "check", 0) == 1};
    Shape shape;
    size_t bytes, longest = 0;
    int file, var;
    TRY(open_var(request, &file, &var));
    TRY(shape_of(file, var, &shape));
    TRY(nc_close(file));
    const size_t *slabs = load(text(request, "slabs", ""), &bytes);
    if (!slabs)
        return fail("slabs", "no such file");
    size_t rank = (size_t)shape.rank, n = bytes / (16 * rank), most = (size_t)number(request, "reads", 1e18);
    if (n > most)
        n = most;
    size_t *length = malloc((n + 1) * sizeof *length);
    for (size_t i = 0; i < n; i++) {
        length[i] = shape.size;
        for (size_t d = 0; d < rank; d++)
            length[i] *= slabs[(2 * i + 1) * rank + d];
        if (length[i] > longest)
            longest = length[i];
    }
    void *memory = warm(longest);
    double limit = number(request, "limit", 0);
    Clock clock = start();
    TRY(open_var(request, &file, &var));
    for (size_t i = 0; i < n; i++) {
        TRY(nc_get_vara(file, var, slabs + 2 * i * rank, slabs + (2 * i + 1) * rank, memory));
        if (result.has_checksum)
            result.checksum += checksum(memory, length[i]) * (2 * i + 1);
        result.bytes += length[i];
        result.reads++;
        if (limit > 0 && start().wall - clock.wall > limit)
            break;
    }
    TRY(nc_close(file));
    stop(&clock, &result);
    free(length);
    answer(&result);
}

/* write: create a file with one variable, write all of it, close; records=1: record by record; durable=1: and sync. */
static void write_all(const Request *request)
{
    Answer result = {.reads = 1};
    size_t shape[MAX_RANK], chunks[MAX_RANK];
    int rank = numbers(request, "shape", shape), chunked = numbers(request, "chunks", chunks);
    const char *path = text(request, "path", ""), *name = text(request, "type", "f4");
    nc_type type = !strcmp(name, "i2") ? NC_SHORT : !strcmp(name, "f8") ? NC_DOUBLE : NC_FLOAT;
    int mode = !strcmp(text(request, "format", ""), "cdf5") ? NC_64BIT_DATA : NC_NETCDF4;
    int level = (int)number(request, "deflate", 0), shuffle = (int)number(request, "shuffle", 0);
    const void *values = load(text(request, "source", ""), &result.bytes);
    int file, var, dims[MAX_RANK], before, by_records = rank > 0 && number(request, "records", 0) == 1;
    if (!values)
        return fail("source", "no such file");
    Clock clock = start();
    TRY(nc_create(path, mode | NC_CLOBBER, &file));
    if (!number(request, "fill", 0))
        TRY(nc_set_fill(file, NC_NOFILL, &before));
    for (int i = 0; i < rank; i++) {
        char dim[8];
        snprintf(dim, sizeof dim, "d%d", i);
        TRY(nc_def_dim(file, dim, by_records && i == 0 ? NC_UNLIMITED : shape[i], &dims[i]));
    }
    TRY(nc_def_var(file, text(request, "var", "v"), type, rank, dims, &var));
    if (chunked)
        TRY(nc_def_var_chunking(file, var, NC_CHUNKED, chunks));
    if (level || shuffle)
        TRY(nc_def_var_deflate(file, var, shuffle, level > 0, level));
    TRY(nc_enddef(file));
    if (by_records) {
        size_t at[MAX_RANK] = {0}, count[MAX_RANK], bytes = shape[0] ? result.bytes / shape[0] : 0;
        memcpy(count, shape, sizeof count);
        count[0] = 1;
        for (result.reads = 0; result.reads < shape[0]; result.reads++) {
            at[0] = result.reads;
            TRY(nc_put_vara(file, var, at, count, (const char *)values + result.reads * bytes));
        }
    } else {
        TRY(nc_put_var(file, var, values));
    }
    TRY(nc_close(file));
    if (number(request, "durable", 0) == 1) {
        int fd = open(path, O_RDONLY);
        if (fd < 0 || fsync(fd))
            return fail("fsync", path);
        close(fd);
    }
    stop(&clock, &result);
    answer(&result);
}

/* All attributes of all variables; `keep` collects their values when it is not NULL. */
static int attributes(int file, char **keep, size_t *kept, uint64_t *bytes)
{
    int status, vars, attrs;
    if ((status = nc_inq_nvars(file, &vars)))
        return status;
    for (int var = 0; var < vars; var++) {
        if ((status = nc_inq_varnatts(file, var, &attrs)))
            return status;
        for (int i = 0; i < attrs; i++) {
            char name[NC_MAX_NAME + 1], value[4096];
            nc_type type;
            size_t n, size;
            if ((status = nc_inq_attname(file, var, i, name)) || (status = nc_inq_att(file, var, name, &type, &n)) ||
                (status = nc_inq_type(file, type, NULL, &size)))
                return status;
            if (n * size > sizeof value)
                return NC_EINVAL;
            if ((status = nc_get_att(file, var, name, value)))
                return status;
            *bytes += n * size;
            if (keep) {
                *keep = realloc(*keep, *kept + n * size);
                memcpy(*keep + *kept, value, n * size);
                *kept += n * size;
            }
        }
    }
    return NC_NOERR;
}

/* open: open, all attributes, close; `repeat` times. */
static void open_file(const Request *request)
{
    Answer result = {.reads = (uint64_t)number(request, "repeat", 1)};
    const char *path = text(request, "path", "");
    int file;
    Clock clock = start();
    for (uint64_t i = 0; i < result.reads; i++) {
        result.bytes = 0;
        TRY(nc_open(path, NC_NOWRITE, &file));
        TRY(attributes(file, NULL, NULL, &result.bytes));
        TRY(nc_close(file));
    }
    stop(&clock, &result);
    if (number(request, "check", 0) == 1) {
        char *all = NULL;
        size_t n = 0;
        uint64_t bytes = 0;
        TRY(nc_open(path, NC_NOWRITE, &file));
        TRY(attributes(file, &all, &n, &bytes));
        TRY(nc_close(file));
        result.has_checksum = 1;
        result.checksum = checksum(all, n);
        free(all);
    }
    answer(&result);
}

static void serve(const Request *request)
{
    const char *task = text(request, "do", "");
    if (!strcmp(task, "hello")) {
        char version[64] = "";
        sscanf(nc_inq_libvers(), "%63s", version);
        printf("{\"name\": \"netcdf-c\", \"version\": \"%s\"}\n", version);
    } else if (!strcmp(task, "read")) {
        read_all(request);
    } else if (!strcmp(task, "slabs")) {
        read_slabs(request);
    } else if (!strcmp(task, "write")) {
        write_all(request);
    } else if (!strcmp(task, "open")) {
        open_file(request);
    } else {
        fail("no such task", task);
    }
}

int main(void)
{
    char line[16384];
    while (fgets(line, sizeof line, stdin)) {
        Request request;
        if (parse(&request, line))
            serve(&request);
        else
            fail("request", "not key=value");
        fflush(stdout);
    }
    return 0;
}
