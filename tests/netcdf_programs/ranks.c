// A model whose ranks each compute rows of a field; rank 0 gathers them and writes the steps, compressed, with a sync after each:
// ranks FILE STEPS WAY
//
// close: as it should be. forget: the file is still open at MPI_Finalize. abort: MPI_Abort after the last step. early: rank 0 opens
// the file before MPI_Init, and closes another after MPI_Finalize. again: all steps are written once more, and the process ends behind
// MPI_Finalize. parallel: all ranks open it by nc_create_par. With a further argument, rank 0 prints each step that is synced, and the
// others print how long their own work took.
#include "check.h"

#include <mpi.h>
#ifdef PARALLEL
#include <netcdf_par.h>
#endif
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 180, COLUMNS = 360 };

static int create(const char *path, int parallel, int *var) {
    int nc, dims[3];
    size_t chunks[3] = {1, ROWS / 2, COLUMNS};
    float fill = -1;
#ifdef PARALLEL
    if (parallel)
        check(nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &nc));
    else
#endif
        check(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &nc));
    check(nc_def_dim(nc, "time", parallel ? 8 : NC_UNLIMITED, &dims[0]));
    check(nc_def_dim(nc, "y", ROWS, &dims[1]));
    check(nc_def_dim(nc, "x", COLUMNS, &dims[2]));
    check(nc_def_var(nc, "v", NC_FLOAT, 3, dims, var));
    check(nc_def_var_fill(nc, *var, 0, &fill));
    check(nc_def_var_chunking(nc, *var, NC_CHUNKED, chunks));
    if (!parallel)
        check(nc_def_var_deflate(nc, *var, 1, 1, 1));
    check(nc_enddef(nc));
    return nc;
}

// The lowest bits of a model's fields do not repeat.
static float noise(unsigned x) {
    x *= 2654435761u, x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
    return (x >> 8) * 1e-9f;
}

static void compute(float *field, int step, int first, int rows) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < COLUMNS; j++)
            field[i * COLUMNS + j] = 280 + 20 * sinf((first + i) * 0.01f + step) + noise((step * ROWS + first + i) * COLUMNS + j);
}

static void put(int nc, int var, int step, int first, int rows, const float *field) {
    size_t start[3] = {step, first, 0}, count[3] = {1, rows, COLUMNS};
    check(nc_put_vara_float(nc, var, start, count, field));
}

int main(int argc, char **argv) {
    static float own[ROWS * COLUMNS], whole[ROWS * COLUMNS];
    if (argc < 4)
        return 2;
    const char *way = argv[3];
    int steps = atoi(argv[2]), rank, ranks, nc = -1, var = 0, other = -1, early = !strcmp(way, "early");
    char second[4096];
    snprintf(second, sizeof second, "%s.%d", argv[1], early ? (int)getpid() : 0);
    if (early)
        other = create(second, 0, &var);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int rows = ROWS / ranks, parallel = !strcmp(way, "parallel");
    double work = 0;
    if (parallel || rank == 0)
        nc = create(argv[1], parallel, &var);
    for (int t = 0; t < steps; t++) {
        double begin = MPI_Wtime();
        for (int again = 0; again < (argc > 5 ? atoi(argv[5]) : 1); again++)
            compute(own, t, rank * rows, rows);
        work += MPI_Wtime() - begin;
        if (parallel) {
            put(nc, var, t, rank * rows, rows, own);
            continue;
        }
        MPI_Gather(own, rows * COLUMNS, MPI_FLOAT, whole, rows * COLUMNS, MPI_FLOAT, 0, MPI_COMM_WORLD);
        if (other >= 0)
            put(other, 0, t, 0, ROWS, own);
        if (rank == 0) {
            put(nc, var, t, 0, rows * ranks, whole);
            if (strcmp(way, "forget"))
                check(nc_sync(nc));
            if (argc > 4) {
                printf("%d\n", t);
                fflush(stdout);
            }
        }
    }
    if (argc > 5)
        printf("rank %d: %.4f s of work\n", rank, work);
    if (!strcmp(way, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    int again = !strcmp(way, "again");
    for (int t = 0; again && nc >= 0 && t < steps; t++) {
        for (int i = 0; i < ROWS * COLUMNS; i++)
            whole[i] = noise(i) * (t % 3 ? 1 : i % 3);
        put(nc, var, t, 0, ROWS, whole);
    }
    if (nc >= 0 && !again && strcmp(way, "forget"))
        check(nc_close(nc));
    MPI_Finalize();
    if (again)
        _exit(0);
    if (other >= 0)
        check(nc_close(other));
    return 0;
}
