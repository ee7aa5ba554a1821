/* What `ncforge bench io --driver netcdf-c` does, as a plain loop in C: an array t:x:y:z of int is written to a contiguous netCDF-4
 * file, one step in each call, always from the same buffer.
 *
 *   loop FILE T X Y Z REPETITIONS
 *
 * prints, for each repetition, the seconds of all calls, and the processor seconds from creating to closing. */

#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void check(int code) {
    if (code != NC_NOERR) {
        fprintf(stderr, "%s\n", nc_strerror(code));
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "loop FILE T X Y Z REPETITIONS\n");
        return 2;
    }
    const char *names[4] = {"time", "dim_1", "dim_2", "dim_3"};
    size_t lens[4], block = 1;
    for (int d = 0; d < 4; d++) {
        lens[d] = strtoull(argv[2 + d], NULL, 10);
        block *= d ? lens[d] : 1;
    }
    int *values = malloc(block * sizeof *values);
    if (!values) return 1;
    for (size_t i = 0; i < block; i++) values[i] = (int)i;
    for (int rep = atoi(argv[6]); rep > 0; rep--) {
        int ncid, dims[4], var, old;
        unlink(argv[1]);
        double used = now(CLOCK_PROCESS_CPUTIME_ID);
        check(nc_create(argv[1], NC_NETCDF4, &ncid));
        check(nc_set_fill(ncid, NC_NOFILL, &old));
        for (int d = 0; d < 4; d++) check(nc_def_dim(ncid, names[d], lens[d], &dims[d]));
        check(nc_def_var(ncid, "data", NC_INT, 4, dims, &var));
        /* By this the benchmark knows its own files. */
        check(nc_put_att_text(ncid, NC_GLOBAL, "ncforge_bench", 6, "blocks"));
        check(nc_enddef(ncid));
        size_t start[4] = {0, 0, 0, 0}, count[4] = {1, lens[1], lens[2], lens[3]};
        double begun = now(CLOCK_MONOTONIC);
        for (size_t t = 0; t < lens[0]; t++) {
            start[0] = t;
            check(nc_put_vara(ncid, var, start, count, values));
        }
        double ended = now(CLOCK_MONOTONIC);
        check(nc_close(ncid));
        printf("%.9f %.9f\n", ended - begun, now(CLOCK_PROCESS_CPUTIME_ID) - used);
    }
    unlink(argv[1]);
    free(values);
    return 0;
}
