/* direct CASE FILE: netCDF-C and HDF5 in one program, on one file. Prints the first value of each quarter of a chunk.
   sync: netCDF-C puts quarters and syncs, HDF5 writes one, netCDF-C puts another
   again: so in a file that is there
   before: HDF5 writes before netCDF-C syncs
   stale: netCDF-C reads what HDF5 has not written to the file yet
   opened: netCDF-C writes to a file that HDF5 has open */
#include <hdf5.h>
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 65536
static float b[N];
static int id, var;
static hid_t file, dataset;

static void check(int code)
{
    if (code < 0 || code > 0) {
        printf("error %d\n", code);
        exit(1);
    }
}

static void fill(float value)
{
    for (int i = 0; i < N; i++)
        b[i] = value;
}

static void create(const char *path)
{
    int dim;
    size_t chunk = N;
    check(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &id));
    check(nc_def_dim(id, "x", N, &dim));
    check(nc_def_var(id, "v", NC_FLOAT, 1, &dim, &var));
    check(nc_def_var_chunking(id, var, NC_CHUNKED, &chunk));
    check(nc_def_var_deflate(id, var, 1, 1, 1));
    check(nc_enddef(id));
}

static void put(int quarter, float value)
{
    size_t start = quarter * N / 4, count = N / 4;
    fill(value);
    check(nc_put_vara_float(id, var, &start, &count, b));
}

static void open_by_hdf5(const char *path)
{
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(list, H5F_CLOSE_WEAK);
    file = H5Fopen(path, H5F_ACC_RDWR, list);
    H5Pclose(list);
    dataset = H5Dopen2(file, "v", H5P_DEFAULT);
}

static void write_by_hdf5(int quarter, float value)
{
    hsize_t start = quarter * N / 4, count = N / 4;
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(1, &count, 0);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, 0, &count, 0);
    fill(value);
    check(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, b));
    H5Sclose(space);
    H5Sclose(memory);
}

static void close_by_hdf5(void)
{
    check(H5Dclose(dataset));
    check(H5Fclose(file));
}

static void show(const char *path)
{
    int other;
    check(nc_open(path, NC_NOWRITE, &other));
    fill(0);
    check(nc_get_var_float(other, 0, b));
    check(nc_close(other));
    printf("%g %g %g %g\n", b[0], b[N / 4], b[N / 2], b[3 * N / 4]);
}

int main(int argc, char **argv)
{
    const char *way = argv[1], *path = argv[2];
    create(path);
    if (!strcmp(way, "sync")) {
        put(0, 1);
        put(1, 2);
        check(nc_sync(id));
        open_by_hdf5(path);
        write_by_hdf5(2, 30);
        close_by_hdf5();
        put(3, 40);
        check(nc_close(id));
    } else if (!strcmp(way, "before")) {
        put(0, 1);
        open_by_hdf5(path);
        write_by_hdf5(2, 30);
        close_by_hdf5();
        put(3, 40);
        check(nc_close(id));
    } else {
        for (int i = 0; i < 4; i++)
            put(i, i + 1);
        check(nc_close(id));
        if (!strcmp(way, "again")) {
            check(nc_open(path, NC_WRITE, &id));
            put(0, 10);
            check(nc_sync(id));
        }
        open_by_hdf5(path);
        if (!strcmp(way, "opened"))
            check(nc_open(path, NC_WRITE, &id));
        if (!strcmp(way, "opened"))
            put(1, 10);
        write_by_hdf5(1, 20);
        if (!strcmp(way, "stale"))
            show(path);
        close_by_hdf5();
        if (strcmp(way, "stale")) {
            put(2, 30);
            check(nc_close(id));
        }
    }
    show(path);
    return 0;
}
