/* two WAY FILE LIBRARY LIBRARY: two copies of netCDF-C that call one HDF5, on one file.
   reads: one puts half of a chunk, the other reads
   writes: the other puts the rest of the chunk
   synced: so, after a sync, and the first puts again
   later: one puts when the other has the file open for reading */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 65536
static float b[N];

typedef struct {
    int (*create)(const char *, int, int *);
    int (*open)(const char *, int, int *);
    int (*close)(int);
    int (*sync)(int);
    int (*dim)(int, const char *, size_t, int *);
    int (*var)(int, const char *, int, int, const int *, int *);
    int (*chunk)(int, int, int, const size_t *);
    int (*deflate)(int, int, int, int, int);
    int (*enddef)(int);
    int (*put)(int, int, const size_t *, const size_t *, const float *);
    int (*get)(int, int, const size_t *, const size_t *, float *);
} Library;

static void check(int code)
{
    if (code) {
        printf("error %d\n", code);
        exit(1);
    }
}

static Library load(const char *path)
{
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h) {
        puts(dlerror());
        exit(1);
    }
    return (Library){dlsym(h, "nc_create"), dlsym(h, "nc_open"), dlsym(h, "nc_close"), dlsym(h, "nc_sync"),
                     dlsym(h, "nc_def_dim"), dlsym(h, "nc_def_var"), dlsym(h, "nc_def_var_chunking"),
                     dlsym(h, "nc_def_var_deflate"), dlsym(h, "nc_enddef"), dlsym(h, "nc_put_vara_float"),
                     dlsym(h, "nc_get_vara_float")};
}

static void put(Library *l, int id, size_t start, size_t count, float value)
{
    for (int i = 0; i < N; i++)
        b[i] = value;
    check(l->put(id, 0, &start, &count, b));
}

static void show(Library *l, int id)
{
    size_t start = 0, count = N;
    memset(b, 0, sizeof b);
    check(l->get(id, 0, &start, &count, b));
    printf("%g %g %g %g\n", b[0], b[N / 4], b[N / 2], b[3 * N / 4]);
}

int main(int argc, char **argv)
{
    const char *way = argv[1], *path = argv[2];
    Library one = load(argv[3]), other = load(argv[4]);
    int id, second, dim, var, synced = !strcmp(way, "synced");
    size_t chunk = N;
    check(one.create(path, 0x1000, &id));
    check(one.dim(id, "x", N, &dim));
    check(one.var(id, "v", 5, 1, &dim, &var));
    check(one.chunk(id, var, 0, &chunk));
    check(one.deflate(id, var, 1, 1, 1));
    check(one.enddef(id));
    if (!strcmp(way, "later")) {
        check(one.sync(id));
        check(other.open(path, 0, &second));
        put(&one, id, 0, N / 2, 1);
        show(&other, second);
    } else {
        put(&one, id, 0, N / 2, 1);
        if (synced)
            check(one.sync(id));
        check(other.open(path, strcmp(way, "reads") != 0, &second));
        if (strcmp(way, "reads"))
            put(&other, second, N / 2, N / 2, 2);
        else
            show(&other, second);
    }
    check(other.close(second));
    if (synced)
        put(&one, id, 0, N / 4, 3);
    check(one.close(id));
    check(other.open(path, 0, &id));
    show(&other, id);
    return other.close(id);
}
