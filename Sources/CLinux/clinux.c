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

int clinux_punch_hole(int descriptor, off_t offset, off_t count) {
  return fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, count);
}

#include <pthread.h>

void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

void clinux_prepare_threads(size_t stack_size) {
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, stack_size) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

#include <malloc.h>

int clinux_share_arena(void) { return mallopt(M_ARENA_MAX, 1); }

#include <sys/sysinfo.h>

int clinux_processor_count(void) { return get_nprocs(); }

#include <sys/socket.h>

int clinux_peer(int descriptor, uid_t *user, pid_t *process) {
  struct ucred facts;
  socklen_t size = sizeof facts;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &facts, &size) != 0) return -1;
  *user = facts.uid;
  *process = facts.pid;
  return 0;
}

int clinux_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC); }

#include <unistd.h>

char **clinux_environment(void) { return environ; }

#include <sys/resource.h>

long clinux_raise_open_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  return limit.rlim_cur > (rlim_t)__LONG_MAX__ ? __LONG_MAX__ : (long)limit.rlim_cur;
}

static long soft_limit(__rlimit_resource_t resource) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur > (rlim_t)__LONG_MAX__) return -1;
  return (long)limit.rlim_cur;
}

long clinux_address_limit(void) { return soft_limit(RLIMIT_AS); }

long clinux_data_limit(void) { return soft_limit(RLIMIT_DATA); }

#include <sys/prctl.h>

int clinux_forbid_core_files(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

#include <sys/ioctl.h>

int clinux_terminal_width(int descriptor) {
  struct winsize size;
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) return -1;
  return size.ws_col;
}

#include <signal.h>
#include <spawn.h>

int clinux_spawn(pid_t *process, const char *path, char *const arguments[],
                 char *const environment[], const int descriptors[], int count, int new_session) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  int failure = posix_spawn_file_actions_init(&actions);
  if (failure) return failure;
  if ((failure = posix_spawnattr_init(&attributes))) {
    posix_spawn_file_actions_destroy(&actions);
    return failure;
  }
  for (int index = 0; index < count && !failure; index++)
    failure = posix_spawn_file_actions_adddup2(&actions, descriptors[index], index);
  if (!failure) failure = posix_spawn_file_actions_addclosefrom_np(&actions, count);
  sigemptyset(&none);
  sigfillset(&all);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (new_session) flags |= POSIX_SPAWN_SETSID;
  if (!failure) failure = posix_spawnattr_setsigmask(&attributes, &none);
  if (!failure) failure = posix_spawnattr_setsigdefault(&attributes, &all);
  if (!failure) failure = posix_spawnattr_setflags(&attributes, flags);
  if (!failure)
    failure = posix_spawnp(process, path, &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failure;
}

int clinux_is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void clinux_end_by_signal(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  raise(number);
}

int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }
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
