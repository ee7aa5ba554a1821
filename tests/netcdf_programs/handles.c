// Random calls on several handles of one file, whatever they were opened for: prints all codes, and how many values differ from the model.
//
//   handles PATH SEED
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 12, WIDTH = 3000, HANDLES = 4, CALLS = 120 };

static int values[TIMES * WIDTH], model[TIMES * WIDTH];

static int random_below(int n) { return (int)(random() % n); }

// What of the box is not as in the model; with `value`, the model becomes as the box.
static int differing(const size_t *start, const size_t *count, const int *value) {
    int differ = 0;
    for (size_t t = 0; t < count[0]; t++)
        for (size_t x = 0; x < count[1]; x++) {
            int *expected = &model[(start[0] + t) * WIDTH + start[1] + x];
            if (value)
                *expected = *value;
            differ += *expected != values[t * count[1] + x];
        }
    return differ;
}

int main(int argc, char **argv) {
    const char *path = argv[argc - 2];
    srandom(atoi(argv[argc - 1]));
    int file, dims[2], var, handles[HANDLES], open[HANDLES] = {0};
    nc_create(path, NC_NETCDF4, &file);
    nc_def_dim(file, "t", TIMES, &dims[0]);
    nc_def_dim(file, "x", WIDTH, &dims[1]);
    nc_def_var(file, "v", NC_INT, 2, dims, &var);
    size_t chunk[2] = {1 + random_below(4), WIDTH / (1 + random_below(2))};
    nc_def_var_chunking(file, var, NC_CHUNKED, chunk);
    nc_def_var_deflate(file, var, 1, 1, 1);
    nc_put_var_int(file, var, values);
    nc_close(file);
    for (int call = 0; call < CALLS; call++) {
        int i = random_below(HANDLES), what = random_below(10);
        if (!open[i]) {
            int code = nc_open(path, random_below(2) ? NC_WRITE : NC_NOWRITE, &handles[i]);
            open[i] = code == NC_NOERR;
            printf("%d: open %d: %d\n", call, i, code);
            continue;
        }
        size_t start[2] = {random_below(TIMES), random_below(2) ? 0 : random_below(WIDTH)};
        size_t count[2] = {1 + random_below(TIMES - start[0]), random_below(2) ? WIDTH - start[1] : 1};
        if (what == 0) {
            printf("%d: close %d: %d\n", call, i, nc_close(handles[i]));
            open[i] = 0;
        } else if (what == 1) {
            printf("%d: sync %d: %d\n", call, i, nc_sync(handles[i]));
        } else if (what < 6) {
            for (size_t k = 0; k < count[0] * count[1]; k++)
                values[k] = call;
            int code = nc_put_vara_int(handles[i], var, start, count, values);
            printf("%d: put %d: %d\n", call, i, code);
            if (code == NC_NOERR)
                differing(start, count, &call);
        } else {
            int code = nc_get_vara_int(handles[i], var, start, count, values);
            printf("%d: get %d: %d, %d differ\n", call, i, code, differing(start, count, NULL));
        }
    }
    for (int i = 0; i < HANDLES; i++)
        if (open[i])
            printf("close %d: %d\n", i, nc_close(handles[i]));
    size_t start[2] = {0, 0}, count[2] = {TIMES, WIDTH};
    nc_open(path, NC_NOWRITE, &file);
    nc_get_var_int(file, var, values);
    printf("in the file %d differ\n", differing(start, count, NULL));
    return nc_close(file);
}
