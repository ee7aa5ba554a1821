/* A random session of writing: writes FILE SEED STEPS

   Creates a netCDF-4 file with variables of many types, shapes, chunks, filters and fill modes, and does STEPS random things to it: puts of
   all kinds (whole, strided, mapped, single, in other types, out of bounds, out of range), gets, redef and enddef, sync, new
   variables and attributes, closing and opening again. Prints each return code and a checksum of everything that is read. The same
   SEED does the same. */
#include <netcdf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARS 40
#define MOST 200000

static uint64_t state;
static int ncid, nvars, dims[6], steps_done;
static const char *path;
static size_t dimlens[6] = {0, 0, 5, 17, 33, 8}; /* t and u are unlimited */

struct variable {
    int id, group, type, rank, dim[4], nofill;
} vars[VARS];

static int nofill;

static const char *name_of(int i) {
    static char name[20];
    sprintf(name, i == 3 ? "y" : i == 5 ? "x" : i == 7 ? "t" : "v%d", i);
    return name;
}

static uint32_t next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}
static size_t below(size_t n) { return n ? next() % n : 0; }

static int say(const char *what, int code) {
    printf("%d %s %d\n", steps_done, what, code);
    return code;
}

static const int types[] = {NC_BYTE, NC_CHAR, NC_SHORT, NC_INT, NC_FLOAT, NC_DOUBLE, NC_UBYTE, NC_USHORT, NC_UINT, NC_INT64, NC_UINT64};
static const size_t sizes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};

/* Values of a type; small ones mostly, so that most conversions have a defined result. */
static void values(int type, void *at, size_t n, int wild) {
    uint32_t base = next() % 50;
    for (size_t i = 0; i < n; i++) {
        int v = (int)((base + i * 7 + i / 13) % 100);
        if (wild && i % 97 == 5) v = 30000;
        switch (type) {
        case NC_BYTE: ((signed char *)at)[i] = (signed char)v; break;
        case NC_CHAR: ((char *)at)[i] = (char)('a' + v % 26); break;
        case NC_SHORT: ((short *)at)[i] = (short)v; break;
        case NC_INT: ((int *)at)[i] = v; break;
        case NC_FLOAT: ((float *)at)[i] = (float)v * 0.5f; break;
        case NC_DOUBLE: ((double *)at)[i] = v * 0.25; break;
        case NC_UBYTE: ((unsigned char *)at)[i] = (unsigned char)v; break;
        case NC_USHORT: ((unsigned short *)at)[i] = (unsigned short)v; break;
        case NC_UINT: ((unsigned *)at)[i] = (unsigned)v; break;
        case NC_INT64: ((long long *)at)[i] = v; break;
        default: ((unsigned long long *)at)[i] = (unsigned long long)v; break;
        }
    }
}

static int put(const struct variable *v, int mem, int way, const size_t *s, const size_t *c, const ptrdiff_t *st, const ptrdiff_t *im, void *p) {
    if (mem == NC_NAT) {
        switch (way) {
        case 0: return nc_put_vara(v->group, v->id, s, c, p);
        case 1: return nc_put_vars(v->group, v->id, s, c, st, p);
        case 2: return nc_put_varm(v->group, v->id, s, c, st, im, p);
        default: return nc_put_var1(v->group, v->id, s, p);
        }
    }
#define TYPED(T, suffix)                                                                     \
    switch (way) {                                                                           \
    case 0: return nc_put_vara_##suffix(v->group, v->id, s, c, (const T *)p);               \
    case 1: return nc_put_vars_##suffix(v->group, v->id, s, c, st, (const T *)p);           \
    case 2: return nc_put_varm_##suffix(v->group, v->id, s, c, st, im, (const T *)p);       \
    default: return nc_put_var1_##suffix(v->group, v->id, s, (const T *)p);                 \
    }
    switch (mem) {
    case NC_BYTE: TYPED(signed char, schar)
    case NC_CHAR: TYPED(char, text)
    case NC_SHORT: TYPED(short, short)
    case NC_INT: TYPED(int, int)
    case NC_FLOAT: TYPED(float, float)
    case NC_DOUBLE: TYPED(double, double)
    case NC_UBYTE: TYPED(unsigned char, uchar)
    case NC_USHORT: TYPED(unsigned short, ushort)
    case NC_UINT: TYPED(unsigned, uint)
    case NC_INT64: TYPED(long long, longlong)
    default: TYPED(unsigned long long, ulonglong)
    }
}

static void random_put(void) {
    static char memory[MOST * 8 + 64];
    if (!nvars) return;
    const struct variable *v = &vars[below(nvars)];
    size_t s[4], c[4], n = 1;
    ptrdiff_t st[4], im[4];
    int way = (int)below(10);
    way = way < 6 ? 0 : way < 8 ? 1 : way < 9 ? 2 : 3;
    int whole = below(3) == 0, bad = below(40) == 0;
    for (int d = 0; d < v->rank; d++) {
        size_t len = dimlens[v->dim[d]];
        size_t reach = len;
        if (v->dim[d] < 2) {
            nc_inq_dimlen(ncid, dims[v->dim[d]], &len);
            reach = len + 1 + below(3);
            if (reach > 40) reach = 40;
        }
        st[d] = way == 1 || way == 2 ? 1 + (ptrdiff_t)below(3) : 1;
        s[d] = whole && v->dim[d] >= 2 ? 0 : below(reach);
        if (v->dim[d] < 2 && below(2)) s[d] = len < 40 ? len : 0;
        size_t most = s[d] < reach ? 1 + (reach - 1 - s[d]) / (size_t)st[d] : 1;
        c[d] = whole ? most : 1 + below(most);
        if (bad && below(2)) s[d] += below(30), c[d] += below(10);
        if (below(200) == 0) c[d] = 0;
        if (below(400) == 0) st[d] = 0;
        if (way == 3) c[d] = 1;
        n *= c[d];
    }
    if (n > MOST / 4) return;
    /* The map of the transposed array. */
    ptrdiff_t step = 1;
    for (int d = 0; d < v->rank; d++) im[d] = step, step *= (ptrdiff_t)(c[d] ? c[d] : 1);
    int mem = below(3) ? NC_NAT : types[below(11)];
    int type = mem == NC_NAT ? v->type : mem;
    /* What C does not define is not asked for: floats out of the range of integers. */
    int wild = below(8) == 0 && type != NC_FLOAT && type != NC_DOUBLE;
    values(type, memory, n ? n : 1, wild);
    printf("put v%d type %d rank %d way %d mem %d start %zu %zu count %zu %zu\n", (int)(v - vars), v->type, v->rank, way, mem,
           v->rank ? s[0] : 0, v->rank > 1 ? s[1] : 0, v->rank ? c[0] : 0, v->rank > 1 ? c[1] : 0);
    say("put", put(v, mem, way, s, c, st, im, memory));
}

static void check(const struct variable *v, int number, const size_t *s, const size_t *c, size_t n) {
    static unsigned char memory[MOST * 8];
    if (n * sizes[v->type] > sizeof memory) return;
    memset(memory, 0, n * sizes[v->type]);
    int code = nc_get_vara(v->group, v->id, s, c, memory);
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < n * sizes[v->type]; i++) sum = (sum ^ memory[i]) * 1099511628211u;
    /* What was never written is whatever it is where nothing fills it. */
    if (v->nofill) sum = 0;
    printf("%d get v%d %d %llx\n", steps_done, number, code, (unsigned long long)sum);
}

static void random_get(int all) {
    if (!nvars) return;
    const struct variable *v = &vars[below(nvars)];
    size_t s[4], c[4], n = 1;
    for (int d = 0; d < v->rank; d++) {
        size_t len = dimlens[v->dim[d]];
        if (v->dim[d] < 2) nc_inq_dimlen(ncid, dims[v->dim[d]], &len);
        s[d] = all ? 0 : below(len);
        c[d] = all ? len : below(len - s[d] + 1);
        if (below(60) == 0) c[d] += 1;
        n *= c[d];
    }
    check(v, (int)(v - vars), s, c, n);
}

static void define_variable(int group) {
    if (nvars == VARS) return;
    struct variable *v = &vars[nvars];
    /* There is a variable with the name of a dimension that is not its own, and there are coordinate variables. */
    const char *name = name_of(nvars);
    size_t chunk[4];
    v->group = group;
    v->type = types[below(11)];
    v->rank = (int)below(8) == 0 ? 0 : 1 + (int)below(4);
    if (nvars == 5) v->rank = 2;
    int used = 0;
    for (int d = 0; d < v->rank; d++) {
        v->dim[d] = d == 0 && below(2) ? 0 : 2 + (int)below(4);
        if (d == 1 && below(6) == 0) v->dim[d] = 1;
        used |= 1 << v->dim[d];
    }
    if (nvars == 7) v->rank = 1, v->dim[0] = 0;
    if (nvars == 3) v->rank = 1, v->dim[0] = 3;
    int ids[4];
    for (int d = 0; d < v->rank; d++) ids[d] = dims[v->dim[d]];
    if (say("def_var", nc_def_var(group, name, v->type, v->rank, ids, &v->id))) return;
    v->nofill = 0;
    for (int d = 0; d < v->rank; d++) {
        size_t len = dimlens[v->dim[d]];
        chunk[d] = len ? 1 + below(len) : 1 + below(6);
        if (len && below(3) == 0) chunk[d] = len;
    }
    if (v->rank && below(5)) say("chunking", nc_def_var_chunking(group, v->id, NC_CHUNKED, chunk));
    if (v->rank && below(6)) say("deflate", nc_def_var_deflate(group, v->id, (int)below(2), 1, 1 + (int)below(9)));
    if (v->rank && below(4) == 0) say("fletcher32", nc_def_var_fletcher32(group, v->id, NC_FLETCHER32));
    if (below(12) == 0) say("endian", nc_def_var_endian(group, v->id, below(2) ? NC_ENDIAN_BIG : NC_ENDIAN_LITTLE));
    if (v->type == NC_FLOAT && below(3) == 0) say("quantize", nc_def_var_quantize(group, v->id, NC_QUANTIZE_BITGROOM + (int)below(3), 3));
    int fill = (int)below(5);
    unsigned char value[8] = {7, 0, 7, 0, 7, 0, 7, 0};
    if (fill == 0) say("fill", nc_def_var_fill(group, v->id, NC_NOFILL, NULL)), v->nofill = nofill = 1;
    if (fill == 1) say("fill", nc_def_var_fill(group, v->id, NC_FILL, value));
    nvars++;
}

static int reopen(void) {
    int code = say("close", nc_close(ncid));
    if (code) return code;
    if ((code = say("open", nc_open(path, NC_WRITE, &ncid)))) return code;
    /* Ids of variables may have another order. */
    for (int i = 0; i < nvars; i++) {
        int below_root = vars[i].group & 0xffff;
        vars[i].group = ncid;
        if (below_root) nc_inq_ncid(ncid, "g", &vars[i].group);
        if (nc_inq_varid(vars[i].group, name_of(i), &vars[i].id)) return say("varid", -1);
    }
    static const char *names[] = {"t", "u", "z", "y", "x", "c"};
    for (int d = 0; d < 6; d++) nc_inq_dimid(ncid, names[d], &dims[d]);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    path = argv[1];
    state = strtoull(argv[2], NULL, 10) * 7919 + 17;
    int steps = atoi(argv[3]), group;
    next(), next();
    int classic = below(5) == 0;
    if (say("create", nc_create(path, NC_NETCDF4 | NC_CLOBBER | (classic ? NC_CLASSIC_MODEL : 0), &ncid))) return 1;
    if (below(6) == 0) say("set_fill", nc_set_fill(ncid, NC_NOFILL, NULL));
    static const char *names[] = {"t", "u", "z", "y", "x", "c"};
    for (int d = 0; d < 6; d++)
        if (say("def_dim", nc_def_dim(ncid, names[d], dimlens[d], &dims[d])) && d == 1) dims[1] = dims[2];
    if (classic) group = ncid;
    else if (say("def_grp", nc_def_grp(ncid, "g", &group))) return 1;
    int n = 8 + (int)below(8);
    for (int i = 0; i < n; i++) define_variable(i > 8 && !classic ? group : ncid);
    if (below(4)) say("enddef", nc_enddef(ncid));
    for (steps_done = 0; steps_done < steps; steps_done++) {
        size_t len;
        int what = (int)below(100);
        if (what < 70) random_put();
        else if (what < 78) random_get(0);
        else if (what < 80) random_get(1);
        else if (what < 83) say("sync", nc_sync(ncid));
        else if (what < 86) say("redef", nc_redef(ncid));
        else if (what < 90) say("enddef", nc_enddef(ncid));
        else if (what < 92) define_variable(ncid);
        else if (what < 95) say("att", nc_put_att_text(ncid, nvars ? vars[below(nvars)].id : NC_GLOBAL, "a", 1 + below(3), "xyz"));
        else if (what < 97) nc_inq_dimlen(ncid, dims[below(2)], &len), printf("%d len %zu\n", steps_done, len);
        else if (what < 98) {
            if (reopen()) break;
        } else if (nvars) {
            /* Another opening in the same process. */
            int other;
            if (!say("open again", nc_open(path, NC_NOWRITE, &other))) {
                for (int n = 0; n < 3; n++) {
                    struct variable v = vars[below(nvars)];
                    size_t s[4] = {0}, c[4], all = 1;
                    if (v.group != ncid || nc_inq_varid(other, name_of((int)(below(nvars))), &v.id)) continue;
                    int ids[4];
                    nc_inq_var(other, v.id, NULL, &v.type, &v.rank, ids, NULL);
                    for (int d = 0; d < v.rank; d++) nc_inq_dimlen(other, ids[d], &c[d]), all *= c[d];
                    v.group = other;
                    v.nofill = nofill;
                    check(&v, -1, s, c, all);
                    random_put();
                }
                say("close again", nc_close(other));
            }
        }
    }
    for (int i = 0; i < nvars; i++) random_get(1);
    if (argv[2][0] && below(10) == 0) return 0; /* Without nc_close. */
    return say("close", nc_close(ncid)) != 0;
}
