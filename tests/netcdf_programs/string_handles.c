/* A variable of strings through two openings of a file: one is put through the opening that only reads, which is closed, then one through
   the other. HDF5 keeps the fill value's type with the file of the opening that looked at it first. Prints what each call gives. */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAY(call) printf(#call ": %d\n", call)

int main(int argc, char **argv)
{
    int writing, reading, dim, var;
    size_t at = 0, one = 1;
    const char *first = "through the other", *second = "hello";
    if (argc < 2) return 2;
    SAY(nc_create(argv[1], NC_NETCDF4, &writing));
    SAY(nc_def_dim(writing, "a", NC_UNLIMITED, &dim));
    SAY(nc_def_var(writing, "s", NC_STRING, 1, &dim, &var));
    SAY(nc_enddef(writing));
    SAY(nc_open(argv[1], NC_NOWRITE, &reading));
    SAY(nc_put_vara_string(reading, 0, &at, &one, &first));
    SAY(nc_close(reading));
    /* Memory that was given back holds other things. */
    for (int i = 0; i < 2000; i++) memset(malloc(100 + i % 7 * 300), 0x5a, 100 + i % 7 * 300);
    SAY(nc_put_vara_string(writing, 0, &at, &one, &second));
    SAY(nc_close(writing));
    return 0;
}
