/* Kills the process in the middle of its n-th change of files (KILL_AT), as suddenly as a machine that loses power loses its
   processes; or counts the changes, into the file COUNT_INTO. Loaded by LD_PRELOAD (tests/stopping.py).

   A change is a write, a truncation, a renaming or a deletion. A write that is killed has written half of its bytes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long changes, kill_at = -1;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("KILL_AT");
    if (at)
        kill_at = atol(at);
}

__attribute__((destructor)) static void end(void)
{
    const char *into = getenv("COUNT_INTO");
    FILE *file = into ? fopen(into, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", changes);
        fclose(file);
    }
}

static int is_last(void) { return atomic_fetch_add(&changes, 1) + 1 == kill_at; }

static void die(void)
{
    for (;;)
        kill(getpid(), SIGKILL);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *bytes, size_t count)
{
    if (file > 2 && is_last()) {
        REAL(write)(file, bytes, count / 2);
        die();
    }
    return REAL(write)(file, bytes, count);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at)
{
    if (is_last()) {
        REAL(pwrite64)(file, bytes, count / 2, at);
        die();
    }
    return REAL(pwrite64)(file, bytes, count, at);
}

int ftruncate64(int file, off64_t length)
{
    if (is_last())
        die();
    return REAL(ftruncate64)(file, length);
}

int rename(const char *from, const char *to)
{
    if (is_last())
        die();
    return REAL(rename)(from, to);
}

int unlink(const char *path)
{
    if (is_last())
        die();
    return REAL(unlink)(path);
}
