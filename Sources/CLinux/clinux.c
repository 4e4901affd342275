#include "clinux.h"
#include <fcntl.h>
#include <sys/file.h>

int clinux_openat(int directory, const char *path, int flags, mode_t mode) {
  return openat(directory, path, flags | O_CLOEXEC, mode);
}

int clinux_flock(int descriptor, int operation) { return flock(descriptor, operation); }

int clinux_start_writeback(int descriptor, off_t offset, off_t count) {
  return sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE);
}

#include <syslog.h>

void clinux_syslog(int priority, const char *line) { syslog(priority, "%s", line); }

#include <pthread.h>

void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
