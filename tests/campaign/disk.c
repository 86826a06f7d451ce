/* A failing disk, loaded before everything else (LD_PRELOAD): the call number FAULT_AT that touches a file below FAULT_BELOW ends with
   the error FAULT_ERRNO; with FAULT_STAYS all later ones do, too. FAULT_READS: calls that read count as well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int count;

static int fails(void) {
    const char *at = getenv("FAULT_AT"), *number = getenv("FAULT_ERRNO");
    if (!at || !number) return 0;
    int now = __sync_add_and_fetch(&count, 1), when = atoi(at);
    if (now != when && !(now > when && getenv("FAULT_STAYS"))) return 0;
    errno = atoi(number);
    return 1;
}

static int below(const char *path) {
    const char *folder = getenv("FAULT_BELOW");
    char here[4096];
    if (!folder || !path) return 0;
    if (path[0] != '/' && getcwd(here, sizeof here)) path = here; /* near enough: relative to the current folder */
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int open_below(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return below(path);
}

static int counts(int flags) { return getenv("FAULT_READS") != NULL || (flags & (O_WRONLY | O_RDWR | O_CREAT)); }

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, name, const char *, int, ...); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = va_arg(rest, mode_t); \
        va_end(rest); \
        return counts(flags) && below(path) && fails() ? -1 : real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int file, const void *bytes, size_t length) {
    REAL(ssize_t, write, int, const void *, size_t);
    return file > 2 && open_below(file) && fails() ? -1 : real(file, bytes, length);
}
ssize_t read(int file, void *bytes, size_t length) {
    REAL(ssize_t, read, int, void *, size_t);
    return file > 2 && getenv("FAULT_READS") && open_below(file) && fails() ? -1 : real(file, bytes, length);
}
int fsync(int file) {
    REAL(int, fsync, int);
    return open_below(file) && fails() ? -1 : real(file);
}
int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    return below(to) && fails() ? -1 : real(from, to);
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    return below(path) && fails() ? -1 : real(path, mode);
}
int unlink(const char *path) {
    REAL(int, unlink, const char *);
    return below(path) && fails() ? -1 : real(path);
}
