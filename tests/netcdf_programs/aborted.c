// A file that cannot be aborted, and others that get its id: prints all codes.
//
//   aborted FULL OTHER
#include <netcdf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { MANY = 400000, FEW = 65536 };

static int values[MANY];

static int create(const char *path, size_t n, int *file, int *var) {
    int dim;
    return nc_create(path, NC_NETCDF4, file) | nc_def_dim(*file, "x", n, &dim) |
           nc_def_var(*file, "v", NC_INT, 1, &dim, var) | nc_def_var_deflate(*file, *var, 1, 1, 1) | nc_enddef(*file);
}

static void limit(rlim_t length) {
    struct rlimit files = {length, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &files);
}

int main(int argc, char **argv) {
    const char *full = argv[argc - 2], *other = argv[argc - 1];
    int file, var;
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < MANY; i++)
        values[i] = (int)random();
    printf("other: %d", create(other, FEW, &file, &var));
    printf(", put %d", nc_put_var_int(file, var, values));
    printf(", close %d\n", nc_close(file));
    printf("full: %d", create(full, MANY, &file, &var));
    printf(", sync %d", nc_sync(file));
    limit(100000);
    printf(", put %d", nc_put_var_int(file, var, values));
    printf(", sync %d", nc_sync(file));
    printf(", abort %d", nc_abort(file));
    printf(", again %d\n", nc_abort(file));
    limit(RLIM_INFINITY);
    for (int writing = 0; writing < 2; writing++) {
        printf("open %d", nc_open(other, writing ? NC_WRITE : NC_NOWRITE, &file));
        for (int i = 0; i < FEW; i++)
            values[i] = 5 + writing;
        printf(", put %d", nc_put_var_int(file, var, values));
        printf(", get %d", nc_get_var_int(file, var, values));
        printf(": %d", values[7]);
        printf(", close %d\n", nc_close(file));
    }
    nc_open(other, NC_NOWRITE, &file);
    nc_get_var_int(file, var, values);
    printf("in the file: %d\n", values[7]);
    return nc_close(file);
}
