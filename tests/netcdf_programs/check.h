// What programs do that expect no errors.
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int code) {
    if (code) {
        fprintf(stderr, "%s\n", nc_strerror(code));
        exit(3);
    }
}
