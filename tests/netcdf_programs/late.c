// Loads copies of netCDF-C when it needs them, and writes and reads a file with each: late FILE LIBRARY...
#include <dlfcn.h>
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 12, ROWS = 100, COLUMNS = 200 };

int nc_finalize(void);

static void *library;

static void *function(const char *name) {
    void *at = dlsym(library, name);
    if (!at) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return at;
}

#define CALL(name, ...) check(((__typeof__(&name))function(#name))(__VA_ARGS__))

static void check(int code) {
    if (code) {
        fprintf(stderr, "error %d\n", code);
        exit(3);
    }
}

int main(int argc, char **argv) {
    static float field[ROWS * COLUMNS], series[STEPS * ROWS];
    for (int i = 2; i < argc; i++) {
        library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        int nc, var, dims[3];
        char path[4096];
        size_t chunks[3] = {1, ROWS, COLUMNS};
        snprintf(path, sizeof path, "%s.%d", argv[1], i - 2);
        CALL(nc_create, path, NC_NETCDF4 | NC_CLOBBER, &nc);
        CALL(nc_def_dim, nc, "t", NC_UNLIMITED, &dims[0]);
        CALL(nc_def_dim, nc, "y", ROWS, &dims[1]);
        CALL(nc_def_dim, nc, "x", COLUMNS, &dims[2]);
        CALL(nc_def_var, nc, "v", NC_FLOAT, 3, dims, &var);
        CALL(nc_def_var_chunking, nc, var, NC_CHUNKED, chunks);
        CALL(nc_def_var_deflate, nc, var, 1, 1, 1);
        for (int t = 0; t < STEPS; t++) {
            for (int j = 0; j < ROWS * COLUMNS; j++)
                field[j] = (j * 7919 + t) % 1000 * 0.25f + i;
            size_t start[3] = {t, 0, 0}, count[3] = {1, ROWS, COLUMNS};
            CALL(nc_put_vara_float, nc, var, start, count, field);
        }
        CALL(nc_close, nc);
        // Begins anew at the next open.
        CALL(nc_finalize);
        CALL(nc_open, path, NC_NOWRITE, &nc);
        double sum = 0;
        for (int j = 0; j < COLUMNS; j += 7) {
            size_t start[3] = {0, 0, j}, count[3] = {STEPS, ROWS, 1};
            CALL(nc_get_vara_float, nc, 0, start, count, series);
            for (int k = 0; k < STEPS * ROWS; k++)
                sum += series[k];
        }
        CALL(nc_close, nc);
        printf("%.3f\n", sum);
    }
    return 0;
}
