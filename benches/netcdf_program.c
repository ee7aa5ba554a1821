/* A program that reads a variable of three dimensions through netCDF-C, or writes one, in one of several ways, and prints the seconds
 * that this took: for comparing netCDF-C with and without ncforge under it.
 *
 *   netcdf_program FILE VARIABLE WAY [COUNT]
 *
 * Ways: open (open and close the file), whole, slab0, slab1, slab2 (all of the other dimensions at each index of one; COUNT of them,
 * evenly spread), series (all of the first dimension at COUNT points), rows (row after row of the last dimension), one (COUNT single
 * values, one after the other), puts (a new file with a deflated variable gets COUNT single values, one after the other).
 */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int code) {
    if (code == NC_NOERR) return;
    fprintf(stderr, "%s\n", nc_strerror(code));
    exit(1);
}

/* Single values along a row of chunks, as of a program that writes a time series. */
static void put_values(const char *path, const char *name, size_t count) {
    int id, var, dim;
    check(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &id));
    check(nc_def_dim(id, "t", NC_UNLIMITED, &dim));
    check(nc_def_var(id, name, NC_FLOAT, 1, &dim, &var));
    check(nc_def_var_chunking(id, var, NC_CHUNKED, (size_t[]){4096}));
    check(nc_def_var_deflate(id, var, 1, 1, 1));
    check(nc_enddef(id));
    double begin = now();
    for (size_t i = 0; i < count; i++) {
        float value = (float)(i % 977);
        check(nc_put_var1_float(id, var, &i, &value));
    }
    check(nc_close(id));
    printf("%.6f\n", now() - begin);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    const char *way = argv[3];
    size_t asked = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    int id, var, dims[3];
    if (strcmp(way, "puts") == 0) {
        put_values(argv[1], argv[2], asked);
        return 0;
    }
    if (strcmp(way, "open") == 0) {
        double begin = now();
        for (size_t i = 0; i < asked; i++) {
            check(nc_open(argv[1], NC_NOWRITE, &id));
            check(nc_close(id));
        }
        printf("%.6f\n", now() - begin);
        return 0;
    }
    check(nc_open(argv[1], NC_NOWRITE, &id));
    check(nc_inq_varid(id, argv[2], &var));
    check(nc_inq_vardimid(id, var, dims));
    size_t len[3], start[3] = {0, 0, 0}, count[3];
    for (int d = 0; d < 3; d++) check(nc_inq_dimlen(id, dims[d], &len[d]));
    float *out = malloc(len[0] * len[1] * len[2] * sizeof *out);
    memset(out, 0, len[0] * len[1] * len[2] * sizeof *out);
    memcpy(count, len, sizeof count);
    double sum = 0, begin = now();
    if (strcmp(way, "whole") == 0) {
        check(nc_get_var_float(id, var, out));
    } else if (strncmp(way, "slab", 4) == 0) {
        int d = way[4] - '0';
        size_t n = asked && asked < len[d] ? asked : len[d];
        count[d] = 1;
        for (size_t i = 0; i < n; i++) {
            start[d] = i * len[d] / n;
            check(nc_get_vara_float(id, var, start, count, out));
            sum += out[0];
        }
    } else if (strcmp(way, "series") == 0) {
        count[1] = count[2] = 1;
        for (size_t i = 0; i < asked; i++) {
            start[1] = (i * 7919) % len[1];
            start[2] = (i * 104729) % len[2];
            check(nc_get_vara_float(id, var, start, count, out));
            sum += out[0];
        }
    } else if (strcmp(way, "rows") == 0) {
        count[0] = count[1] = 1;
        for (start[0] = 0; start[0] < len[0]; start[0]++)
            for (start[1] = 0; start[1] < len[1]; start[1]++) {
                check(nc_get_vara_float(id, var, start, count, out));
                sum += out[0];
            }
    } else if (strcmp(way, "one") == 0) {
        for (size_t i = 0; i < asked; i++) {
            start[0] = i / (len[1] * len[2]) % len[0];
            start[1] = i / len[2] % len[1];
            start[2] = i % len[2];
            check(nc_get_var1_float(id, var, start, out));
            sum += out[0];
        }
    } else {
        return 2;
    }
    printf("%.6f\n", now() - begin);
    if (sum == 1e300) printf("\n");
    check(nc_close(id));
    return 0;
}
