// System calls that are variadic or macros, and so out of Swift's reach.
#pragma once
#include <sys/types.h>

/// open(2) below a directory descriptor.
int clinux_openat(int directory, const char *path, int flags, mode_t mode);
/// Advisory whole-file lock; 0, or -1 with errno.
int clinux_flock(int descriptor, int operation);
/// Asks the kernel to start writing a range back without waiting for it.
int clinux_start_writeback(int descriptor, off_t offset, off_t count);
/// syslog(3) of one finished line.
void clinux_syslog(int priority, const char *line);
/// Names the calling thread, for `ps -L`; 15 bytes at most.
void clinux_name_thread(const char *name);
