/*
 * bench_machine.c - reads the facts about the machine that belong to every result.
 */
#include "base/clock.h"
#include "bench/bench_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SYNC_SAMPLES 200
#define SYNC_SIZE 4096

static void read_cpu(char *out, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];

    snprintf(out, size, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = strchr(line, ':');

        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(out, size, "%.*s", (int)size - 1, value + 1 + (value[1] == ' '));
        break;
    }
    if (file)
        fclose(file);
}

static void read_filesystem(const char *dir, char *out, size_t size)
{
    static const struct {
        long magic;
        const char *name;
    } known[] = {
        {EXT4_SUPER_MAGIC, "ext4"}, {XFS_SUPER_MAGIC, "xfs"},   {BTRFS_SUPER_MAGIC, "btrfs"},
        {TMPFS_MAGIC, "tmpfs"},     {F2FS_SUPER_MAGIC, "f2fs"}, {OVERLAYFS_SUPER_MAGIC, "overlay"},
        {NFS_SUPER_MAGIC, "nfs"},   {0x2fc12fc1, "zfs"},
    };
    struct statfs info;

    snprintf(out, size, "unknown");
    if (statfs(dir, &info) != 0)
        return;
    for (size_t i = 0; i < FA_COUNT(known); i++) {
        if (known[i].magic == (long)info.f_type)
            snprintf(out, size, "%s", known[i].name);
    }
}

/* The time to write one page to disk in a file that doesn't grow: a lower bound of a commit. */
static enum faina_code measure_sync(const char *dir, double *out_us, struct faina_error *err)
{
    char path[4200], page[SYNC_SIZE];
    double samples[SYNC_SAMPLES];
    bool is_good;
    int file;

    snprintf(path, sizeof path, "%s/sync", dir);
    file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    is_good = file >= 0;
    memset(page, 'x', sizeof page);
    is_good = is_good && pwrite(file, page, sizeof page, 0) == sizeof page && fsync(file) == 0;
    for (size_t i = 0; is_good && i < SYNC_SAMPLES; i++) {
        int64_t start;

        page[0] = (char)('a' + i % 26);
        start = fa_clock_mono_ns();
        is_good = pwrite(file, page, sizeof page, 0) == sizeof page && fdatasync(file) == 0;
        samples[i] = (double)(fa_clock_mono_ns() - start) / 1000;
    }
    if (!is_good)
        fa_error_set(err, FAINA_UNAVAILABLE, "can't write to %.300s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    unlink(path);
    if (!is_good)
        return FAINA_UNAVAILABLE;
    *out_us = fa_bench_quantile(samples, SYNC_SAMPLES, 0.5);
    return FAINA_OK;
}

enum faina_code fa_bench_machine_read(struct fa_bench_machine *out, const char *dir,
                                      struct faina_error *err)
{
    struct utsname name;

    out->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    out->sqlite = fa_bench_raw_version();
    read_cpu(out->cpu, sizeof out->cpu);
    if (uname(&name) == 0)
        snprintf(out->kernel, sizeof out->kernel, "%.30s %.60s", name.sysname, name.release);
    read_filesystem(dir, out->filesystem, sizeof out->filesystem);
    return measure_sync(dir, &out->fdatasync_us, err);
}
