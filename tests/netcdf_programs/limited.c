// Writes steps, or reads them, in an address space that is limited to so many MiB: limited FILE write|read MIB
#include "check.h"

#include <string.h>
#include <sys/resource.h>

enum { STEPS = 40, ROWS = 512, COLUMNS = 1024 };

static void limit(int mib) {
    struct rlimit addresses = {(rlim_t)mib << 20, (rlim_t)mib << 20};
    setrlimit(RLIMIT_AS, &addresses);
}

static void make(const char *path, float *field) {
    int file, dims[3], var;
    size_t chunk[3] = {1, ROWS, COLUMNS};
    check(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &file));
    check(nc_def_dim(file, "t", NC_UNLIMITED, &dims[0]));
    check(nc_def_dim(file, "y", ROWS, &dims[1]));
    check(nc_def_dim(file, "x", COLUMNS, &dims[2]));
    check(nc_def_var(file, "v", NC_FLOAT, 3, dims, &var));
    check(nc_def_var_chunking(file, var, NC_CHUNKED, chunk));
    check(nc_def_var_deflate(file, var, 1, 1, 1));
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < ROWS * COLUMNS; i++)
            field[i] = rand() % 1000 + t;
        size_t start[3] = {t, 0, 0}, count[3] = {1, ROWS, COLUMNS};
        check(nc_put_vara_float(file, var, start, count, field));
        if (t % 10 == 9)
            check(nc_sync(file));
    }
    check(nc_close(file));
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    // A quarter of each step, of all steps, is more than one step.
    float *field = malloc(sizeof(float) * STEPS * ROWS * COLUMNS / 4);
    limit(atoi(argv[3]));
    if (!strcmp(argv[2], "write")) {
        make(argv[1], field);
        return 0;
    }
    int file;
    double sum = 0;
    check(nc_open(argv[1], NC_NOWRITE, &file));
    for (int t = 0; t < STEPS; t++) {
        size_t start[3] = {t, 0, 0}, count[3] = {1, ROWS, COLUMNS};
        check(nc_get_vara_float(file, 0, start, count, field));
        sum += field[t];
    }
    size_t start[3] = {0, 0, 0}, count[3] = {STEPS, ROWS / 2, COLUMNS / 2};
    check(nc_get_vara_float(file, 0, start, count, field));
    for (int i = 0; i < STEPS * ROWS * COLUMNS / 4; i++)
        sum += field[i];
    check(nc_close(file));
    printf("%.17g\n", sum);
    return 0;
}
