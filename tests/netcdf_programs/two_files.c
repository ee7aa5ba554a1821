/* A file that is open for writing and for reading gets no room for its chunk (a limit on the size of files plays the full disk); another
   file is read, and written, by its own id. Prints what each call gives. */
#include <netcdf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define SAY(call) printf(#call ": %d\n", call)

static double values[40000], read_back[40000];

static int made(const char *path, int deflate)
{
    int nc, dims[2], var;
    nc_create(path, NC_NETCDF4, &nc);
    nc_def_dim(nc, "y", 200, dims);
    nc_def_dim(nc, "x", 200, dims + 1);
    nc_def_var(nc, "v", NC_DOUBLE, 2, dims, &var);
    if (deflate) nc_def_var_deflate(nc, var, 0, 1, 1);
    nc_enddef(nc);
    return nc;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    const struct rlimit limit = {20000, 20000};
    const double one = 7;
    const size_t at[2] = {0, 0};
    int full, reading, other = made(argv[2], 0);
    for (int i = 0; i < 40000; i++) values[i] = rand() * 1e-3;
    nc_put_var_double(other, 0, values);
    nc_close(other);
    full = made(argv[1], 1);
    nc_sync(full);
    SAY(nc_open(argv[1], NC_NOWRITE, &reading));
    SAY(nc_open(argv[2], NC_WRITE, &other));
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    SAY(nc_put_var_double(full, 0, values));
    SAY(nc_get_var_double(other, 0, read_back));
    printf("the last value is %s\n", read_back[39999] == values[39999] ? "right" : "wrong");
    SAY(nc_put_var1_double(other, 0, at, &one));
    SAY(nc_close(other));
    /* HDF5 itself does not survive the end of a program with a file that has no room. */
    fflush(stdout);
    _exit(0);
}
