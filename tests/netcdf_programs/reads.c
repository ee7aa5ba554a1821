/* Reads every variable of a file as every type of memory, in selections of many kinds, some of them outside the variable, and
 * prints the error number and a hash of the values of each read. Its output with the hook and without it must be the same.
 *
 *   reads FILE SEED READS
 */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long state;

static unsigned long long next(void) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return state >> 33;
}

static size_t below(size_t n) { return n ? next() % n : 0; }

static unsigned long long hash(const void *p, size_t n) {
    const unsigned char *b = p;
    unsigned long long h = 1469598103934665603ULL;
    for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * 1099511628211ULL;
    return h;
}

#define TYPES(X)                                                                                                      \
    X(text, char) X(schar, signed char) X(uchar, unsigned char) X(short, short) X(ushort, unsigned short)             \
        X(int, int) X(uint, unsigned) X(long, long) X(longlong, long long) X(ulonglong, unsigned long long)           \
            X(float, float) X(double, double)

#define MOST 4000000

static unsigned char *buffer;

/* How: 0 one value, 1 a box, 2 with strides, 3 mapped. */
static int get(int type, int how, int id, int var, const size_t *start, const size_t *count, const ptrdiff_t *stride,
               const ptrdiff_t *imap, size_t *size) {
    int at = 0;
#define ONE(name, ctype)                                                                                               \
    if (type == at++) {                                                                                                \
        *size = sizeof(ctype);                                                                                         \
        ctype *out = (ctype *)buffer;                                                                                  \
        switch (how) {                                                                                                 \
        case 0: return nc_get_var1_##name(id, var, start, out);                                                        \
        case 1: return nc_get_vara_##name(id, var, start, count, out);                                                 \
        case 2: return nc_get_vars_##name(id, var, start, count, stride, out);                                         \
        default: return nc_get_varm_##name(id, var, start, count, stride, imap, out);                                  \
        }                                                                                                              \
    }
    TYPES(ONE)
    return -999;
}

static void strings(int id, int var, int rank, const size_t *shape) {
    size_t n = 1, start[NC_MAX_VAR_DIMS] = {0};
    for (int d = 0; d < rank; d++) n *= shape[d];
    if (n == 0 || n > 100000) return;
    char **out = calloc(n, sizeof *out);
    int code = nc_get_vara_string(id, var, start, shape, out);
    unsigned long long h = 0;
    for (size_t i = 0; code == 0 && i < n; i++) h = h * 31 + (out[i] ? hash(out[i], strlen(out[i])) : 7);
    printf("  strings %d %llx\n", code, h);
    if (code == 0) nc_free_string(n, out);
    free(out);
}

static void variable(int id, int var, int reads) {
    char name[NC_MAX_NAME + 1];
    int rank, dims[NC_MAX_VAR_DIMS];
    nc_type xtype;
    size_t shape[NC_MAX_VAR_DIMS];
    nc_inq_var(id, var, name, &xtype, &rank, dims, NULL);
    for (int d = 0; d < rank; d++) nc_inq_dimlen(id, dims[d], &shape[d]);
    printf("%s type %d rank %d\n", name, xtype, rank);
    if (xtype == NC_STRING) strings(id, var, rank, shape);
    if (xtype > NC_UINT64) return;
    for (int i = 0; i < reads; i++) {
        size_t start[NC_MAX_VAR_DIMS], count[NC_MAX_VAR_DIMS], n = 1, span = 1, size = 0;
        ptrdiff_t stride[NC_MAX_VAR_DIMS], imap[NC_MAX_VAR_DIMS];
        int how = (int)below(4), whole = below(3) == 0, outside = below(12) == 0;
        for (int d = 0; d < rank; d++) {
            start[d] = whole ? 0 : below(shape[d] + (outside ? 2 : 0));
            size_t left = shape[d] > start[d] ? shape[d] - start[d] : 0;
            stride[d] = how >= 2 && below(2) ? 1 + (ptrdiff_t)below(4) : 1;
            size_t most = (left + (size_t)stride[d] - 1) / (size_t)stride[d];
            count[d] = whole ? most : most ? 1 + below(most) : 0;
            if (outside && below(3) == 0) count[d] += below(3);
            if (outside && below(20) == 0) stride[d] = 0;
            n *= how == 0 ? 1 : count[d];
        }
        if (n > MOST / 2) continue;
        /* Transposed, with a gap between the elements; backwards now and then is what Fortran programs never do. */
        for (int d = 0; d < rank; d++) {
            imap[d] = (ptrdiff_t)span;
            span *= count[d] ? count[d] : 1;
        }
        if (below(2)) {
            span = 2;
            for (int d = rank - 1; d >= 0; d--) {
                imap[d] = (ptrdiff_t)span;
                span *= count[d] ? count[d] : 1;
            }
        }
        if (span > MOST) continue;
        int type = xtype == NC_CHAR && below(4) ? 0 : (int)below(12);
        memset(buffer, 0xa5, (how == 3 ? span + 8 : n + 8) * 8);
        int code = get(type, how, id, var, start, count, stride, imap, &size);
        int delivered = code == NC_NOERR || code == NC_ERANGE;
        printf("  %d %d %d", type, how, code);
        if (delivered) printf(" %llx", hash(buffer, (how == 3 ? span + 8 : n + 8) * size));
        printf("\n");
    }
    /* All of it, in the variable's own type. */
    size_t n = 1, start[NC_MAX_VAR_DIMS] = {0}, size;
    for (int d = 0; d < rank; d++) n *= shape[d];
    nc_inq_type(id, xtype, NULL, &size);
    if (n <= MOST) {
        int code = nc_get_vara(id, var, start, shape, buffer);
        printf("  own %d %llx\n", code, code ? 0 : hash(buffer, n * size));
    }
}

static void group(int id, int reads) {
    int n, ids[4096];
    nc_inq_varids(id, &n, ids);
    for (int i = 0; i < n; i++) variable(id, ids[i], reads);
    nc_inq_grps(id, &n, ids);
    for (int i = 0; i < n; i++) group(ids[i], reads);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    int id, code = nc_open(argv[1], NC_NOWRITE, &id);
    printf("open %d\n", code);
    if (code) return 0;
    state = strtoull(argv[2], NULL, 10);
    buffer = malloc((size_t)MOST * 8 + 64);
    group(id, atoi(argv[3]));
    printf("close %d\n", nc_close(id));
    free(buffer);
    return 0;
}
