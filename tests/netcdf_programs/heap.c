/* From which size on malloc takes blocks from outside of the heap, after chunks of 1 MiB were read or written: heap WAY FILE. */
#include "check.h"

#include <malloc.h>
#include <string.h>

enum { ROWS = 24, CHUNK = 1 << 18 };

int main(int argc, char **argv) {
    static float values[CHUNK];
    int writes = argc > 2 && !strcmp(argv[1], "write"), nc, v, dims[2];
    if (writes) {
        size_t chunk[] = {1, CHUNK};
        check(nc_create(argv[2], NC_NETCDF4, &nc));
        check(nc_def_dim(nc, "t", ROWS, dims));
        check(nc_def_dim(nc, "x", CHUNK, dims + 1));
        check(nc_def_var(nc, "v", NC_FLOAT, 2, dims, &v));
        check(nc_def_var_chunking(nc, v, NC_CHUNKED, chunk));
        check(nc_def_var_deflate(nc, v, 0, 1, 1));
    } else {
        check(nc_open(argv[2], NC_NOWRITE, &nc));
        check(nc_inq_varid(nc, "v", &v));
    }
    for (size_t row = 0; row < ROWS; row++) {
        size_t start[] = {row, 0}, count[] = {1, CHUNK};
        values[row] = row;
        check(writes ? nc_put_vara_float(nc, v, start, count, values) : nc_get_vara_float(nc, v, start, count, values));
    }
    /* The first block that is outside of the heap is not freed: that would move the threshold. */
    size_t bytes = 64 << 10;
    for (int before = mallinfo().hblks; bytes < (64 << 20); bytes += 4096) {
        void *volatile block = malloc(bytes);
        if (mallinfo().hblks > before)
            break;
        free(block);
    }
    printf("%zu\n", bytes);
    check(nc_close(nc));
    return 0;
}
