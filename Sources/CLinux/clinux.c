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

#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

ssize_t clinux_copy_range(int source, off_t source_offset, int target, off_t target_offset,
                          size_t count) {
  return copy_file_range(source, &source_offset, target, &target_offset, count, 0);
}

int clinux_rename_exclusive(int source_directory, const char *source, int target_directory,
                            const char *target) {
  return renameat2(source_directory, source, target_directory, target, RENAME_NOREPLACE);
}

ssize_t clinux_get_attribute(int descriptor, const char *name, void *value, size_t size) {
  return fgetxattr(descriptor, name, value, size);
}

int clinux_set_attribute(int descriptor, const char *name, const void *value, size_t size) {
  return fsetxattr(descriptor, name, value, size, 0);
}

int clinux_remove_attribute(int descriptor, const char *name) {
  return fremovexattr(descriptor, name);
}

ssize_t clinux_list_attributes(int descriptor, void *names, size_t size) {
  return flistxattr(descriptor, names, size);
}
