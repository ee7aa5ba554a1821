// Threads that use netCDF-C one after the other: threads WAY FILE
//
// messages: the first writes the file, the second looks at it; HDF5 prints what it misses for the second.
// write, read: the main thread leaves, and another one writes or reads, and ends: so the program does.
#include <netcdf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 64, COLUMNS = 16384 };

static int values[ROWS * COLUMNS];
static const char *path;

static void check(int code) {
    if (code) {
        fprintf(stderr, "%s\n", nc_strerror(code));
        _exit(4);
    }
}

static void *write_file(void *nothing) {
    int file, var, dims[2];
    size_t chunk[2] = {4, COLUMNS};
    check(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &file));
    check(nc_def_dim(file, "y", ROWS, dims));
    check(nc_def_dim(file, "x", COLUMNS, dims + 1));
    check(nc_def_var(file, "v", NC_INT, 2, dims, &var));
    check(nc_def_var_chunking(file, var, NC_CHUNKED, chunk));
    check(nc_def_var_deflate(file, var, 0, 1, 1));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = i % 1000;
    check(nc_put_var_int(file, var, values));
    check(nc_close(file));
    return nothing;
}

static void *read_file(void *nothing) {
    int file;
    long sum = 0;
    check(nc_open(path, NC_NOWRITE, &file));
    check(nc_get_var_int(file, 0, values));
    check(nc_close(file));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        sum += values[i];
    printf("%ld\n", sum);
    fflush(stdout);
    return nothing;
}

int main(int argc, char **argv) {
    const char *way = argv[1];
    pthread_t thread;
    path = argv[2];
    if (!strcmp(way, "messages")) {
        write_file(NULL);
        pthread_create(&thread, NULL, read_file, NULL);
        pthread_join(thread, NULL);
        return 0;
    }
    pthread_create(&thread, NULL, strcmp(way, "write") ? read_file : write_file, NULL);
    pthread_exit(NULL);
}
