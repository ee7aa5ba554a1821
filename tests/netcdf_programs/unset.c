// Variables without fill values, of which chunks were never written: unset FILE write, then unset FILE read, which prints what is in
// memory that had another value before.
#include "check.h"

#include <string.h>

enum { ROWS = 400, COLUMNS = 1000, CHUNK = 10 };

static float values[ROWS * COLUMNS];

static void define(int file, const char *name, int compressed) {
    int dims[2] = {0, 1}, var;
    size_t chunk[2] = {CHUNK, COLUMNS};
    check(nc_def_var(file, name, NC_FLOAT, 2, dims, &var));
    if (compressed) {
        check(nc_def_var_chunking(file, var, NC_CHUNKED, chunk));
        check(nc_def_var_deflate(file, var, 1, 1, 1));
    }
    check(nc_def_var_fill(file, var, NC_NOFILL, NULL));
}

static void make(const char *path) {
    int file, dim;
    check(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &file));
    check(nc_def_dim(file, "y", ROWS, &dim));
    check(nc_def_dim(file, "x", COLUMNS, &dim));
    define(file, "some", 1);
    define(file, "whole", 1);
    define(file, "plain", 0);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = 1;
    size_t start[2] = {CHUNK, 0}, count[2] = {3 * CHUNK, COLUMNS};
    check(nc_put_vara_float(file, 0, start, count, values));
    check(nc_put_var_float(file, 1, values));
    check(nc_close(file));
}

static void show(const char *what) {
    double sum = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        sum += values[i];
    printf("%s: %g, and all %g\n", what, values[0], sum);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = -999;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    if (!strcmp(argv[2], "write")) {
        make(argv[1]);
        return 0;
    }
    int file;
    size_t start[2] = {CHUNK, 0}, written[2] = {3 * CHUNK, COLUMNS}, rows[2] = {ROWS / 20, COLUMNS};
    ptrdiff_t stride[2] = {20, 1};
    check(nc_open(argv[1], NC_NOWRITE, &file));
    show("nothing");
    for (int var = 0; var < 3; var++) {
        check(nc_get_var_float(file, var, values));
        show("all");
        check(nc_get_vara_float(file, var, start, written, values));
        show("what was written");
        start[0] = 0;
        check(nc_get_vars_float(file, var, start, rows, stride, values));
        show("every second chunk");
        start[0] = CHUNK;
    }
    check(nc_close(file));
    return 0;
}
