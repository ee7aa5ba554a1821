// A program that does not come to its end: it writes A and syncs, writes A again and B, and what happens then, or in between, is the
// way: ends FILE WAY
//
// read, strided: it reads A. again, append: it opens the file once more, to read or to write. Then it is killed.
// leave: a function that it has called at its exit leaves at once. late: that function writes A once more.
#include <netcdf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 64, COLUMNS = 1024, CHUNK = 8 };

static int file, vars[2];
static int values[ROWS * COLUMNS], got[ROWS * COLUMNS];
static const char *way;

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

static void at_exit(void) {
    if (!strcmp(way, "leave"))
        _exit(3);
    if (!strcmp(way, "late"))
        put(0, 3);
}

static void define(const char *name, int *var) {
    int dims[2] = {0, 1};
    size_t chunk[2] = {CHUNK, COLUMNS};
    check(nc_def_var(file, name, NC_INT, 2, dims, var));
    check(nc_def_var_chunking(file, *var, NC_CHUNKED, chunk));
    check(nc_def_var_deflate(file, *var, 0, 1, 1));
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    way = argv[2];
    int dim, other;
    // HDF5 registers what it does at the end when it begins, ncforge when a file is created.
    nc_open("nowhere.nc", NC_NOWRITE, &other);
    atexit(at_exit);
    check(nc_create(argv[1], NC_NETCDF4 | NC_CLOBBER, &file));
    check(nc_def_dim(file, "y", ROWS, &dim));
    check(nc_def_dim(file, "x", COLUMNS, &dim));
    define("A", &vars[0]);
    define("B", &vars[1]);
    check(nc_enddef(file));
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
