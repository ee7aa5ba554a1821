// A program that does not come to its end: it writes A and syncs, writes A again and B, and what happens then, or in between, is the
// way: ends FILE WAY [FILE]
//
// read, strided: it reads A. again, append: it opens the file once more, to read or to write. Then it is killed.
// leave: a function that it has called at its exit leaves at once. late: that function writes A once more, and another file.
// close, jump: a signal comes while B is written, since the file may get no longer. What handles the signal closes the file and exits,
// or jumps out of the call; then A is written once more, and the file is closed.
#include <netcdf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 64, COLUMNS = 1024, CHUNK = 8 };

static int file, vars[2];
static int values[ROWS * COLUMNS], got[ROWS * COLUMNS];
static const char *way, *second;
static sigjmp_buf before;

static void check(int code) {
    if (code) {
        fprintf(stderr, "%s\n", nc_strerror(code));
        _exit(4);
    }
}

// Chunk 7 of seed 1 takes least space, and of seed 2 most.
static void put(int var, int seed) {
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        int chunk = i / (CHUNK * COLUMNS);
        values[i] = seed * 1000000 + rand() % (seed == 1 ? 9 + 7 - chunk : 99 + 999 * chunk);
    }
    check(nc_put_var_int(file, vars[var], values));
}

static void define(const char *name, int *var) {
    int dims[2] = {0, 1};
    size_t chunk[2] = {CHUNK, COLUMNS};
    check(nc_def_var(file, name, NC_INT, 2, dims, var));
    check(nc_def_var_chunking(file, *var, NC_CHUNKED, chunk));
    check(nc_def_var_deflate(file, *var, 0, 1, 1));
}

static void create(const char *path) {
    int dim;
    check(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &file));
    check(nc_def_dim(file, "y", ROWS, &dim));
    check(nc_def_dim(file, "x", COLUMNS, &dim));
    define("A", &vars[0]);
    define("B", &vars[1]);
    check(nc_enddef(file));
}

static void at_exit(void) {
    if (!strcmp(way, "leave"))
        _exit(3);
    if (!strcmp(way, "late")) {
        put(0, 3);
        create(second);
        put(0, 4);
    }
}

static void limit_files(rlim_t length) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = length;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void handle(int number) {
    (void)number;
    limit_files(RLIM_INFINITY);
    if (!strcmp(way, "jump"))
        siglongjmp(before, 1);
    nc_close(file);
    exit(3);
}

static int write_until_a_signal(const char *path) {
    struct stat now;
    put(0, 1);
    check(nc_sync(file));
    stat(path, &now);
    signal(SIGXFSZ, handle);
    if (sigsetjmp(before, 1) == 0) {
        limit_files(now.st_size + 4096);
        put(1, 2);
        nc_sync(file);
        return 6;
    }
    put(0, 3);
    return nc_close(file) ? 5 : 0;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    way = argv[2];
    second = argc > 3 ? argv[3] : NULL;
    int other;
    // HDF5 registers what it does at the end when it begins, ncforge when a file is created.
    nc_open("nowhere.nc", NC_NOWRITE, &other);
    atexit(at_exit);
    create(argv[1]);
    if (!strcmp(way, "close") || !strcmp(way, "jump"))
        return write_until_a_signal(argv[1]);
    put(0, 1);
    check(nc_sync(file));
    put(0, 2);
    size_t start[2] = {0, 0}, count[2] = {1, 1}, every[2] = {4, COLUMNS};
    ptrdiff_t stride[2] = {2, 1};
    if (!strcmp(way, "read"))
        check(nc_get_vara_int(file, vars[0], start, count, got));
    if (!strcmp(way, "strided"))
        check(nc_get_vars_int(file, vars[0], start, every, stride, got));
    if (!strcmp(way, "again"))
        check(nc_open(argv[1], NC_NOWRITE, &other));
    if (!strcmp(way, "append"))
        check(nc_open(argv[1], NC_WRITE, &other));
    put(1, 1);
    if (strcmp(way, "leave") && strcmp(way, "late"))
        kill(getpid(), SIGKILL);
    return 0;
}
