// Mounting with and without privilege.
//
// An ordinary user's mount is made by fusermount3, which is setuid root: it gets one end of a
// socket, its number in _FUSE_COMMFD, and sends the open device through it.
// Source: util/fusermount.c and lib/mount.c of libfuse 3.14.0.
#include "cfuse.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// The numbers that the child finds its ends at. Ours are moved above them first, so that no
// duplication in the child overwrites one that is still needed.
enum { child_socket = 3, parent_number_min = 10 };

int cfuse_open_device(void) { return open("/dev/fuse", O_RDWR | O_CLOEXEC); }

int cfuse_mount(const char *source, const char *target, const char *type, unsigned long flags,
                const char *data) {
  return mount(source, target, type, flags, data);
}

int cfuse_unmount(const char *target, int lazily, int forced) {
  return umount2(target,
                 UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0) | (forced ? MNT_FORCE : 0));
}

static int moved_up(int number) {
  if (number == -1) return -1;
  int moved = fcntl(number, F_DUPFD_CLOEXEC, parent_number_min);
  int saved = errno;
  close(number);
  errno = saved;
  return moved;
}

static void close_if_open(int number) {
  int saved = errno;
  if (number != -1) close(number);
  errno = saved;
}

// This process's environment with _FUSE_COMMFD in it; the caller frees the array.
static char **child_environment(char *variable) {
  size_t count = 0;
  while (environ != NULL && environ[count] != NULL) count++;
  char **result = calloc(count + 2, sizeof *result);
  if (result == NULL) return NULL;
  size_t used = 0;
  for (size_t i = 0; i < count; i++)
    if (strncmp(environ[i], "_FUSE_COMMFD=", 13) != 0) result[used++] = environ[i];
  result[used] = variable;
  return result;
}

// Starts fusermount3 with `errors` as its standard error and, unless it is -1, `comm` as its
// socket. Not fork: the child of a process with many threads may do next to nothing before exec.
static int spawn_fusermount(char *const arguments[], int comm, int errors, pid_t *child) {
  char variable[32];
  snprintf(variable, sizeof variable, "_FUSE_COMMFD=%d", child_socket);
  char **environment = child_environment(variable);
  if (environment == NULL) return ENOMEM;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  sigemptyset(&none);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, 0, 1);
  posix_spawn_file_actions_adddup2(&actions, errors, 2);
  if (comm != -1) posix_spawn_file_actions_adddup2(&actions, comm, child_socket);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  int failure = posix_spawnp(child, arguments[0], &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  free(environment);
  return failure;
}

// Reads to the end, keeps what fits, and drops line ends.
static void read_message(int source, char *message, size_t size) {
  size_t used = 0;
  char part[512];
  for (;;) {
    ssize_t count = read(source, part, sizeof part);
    if (count == -1 && errno == EINTR) continue;
    if (count <= 0) break;
    for (ssize_t i = 0; i < count && used + 1 < size; i++)
      message[used++] = part[i] == '\n' ? ' ' : part[i];
  }
  while (used > 0 && message[used - 1] == ' ') used--;
  message[used] = 0;
}

// The exit code, or -1 if it can't be had (a process that ignores SIGCHLD has none).
static int await(pid_t child) {
  int status;
  while (waitpid(child, &status, 0) == -1)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int receive_descriptor(int socket) {
  char byte;
  struct iovec part = {&byte, 1};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr alignment;
  } control;
  struct msghdr message = {
      .msg_iov = &part,
      .msg_iovlen = 1,
      .msg_control = &control,
      .msg_controllen = sizeof control,
  };
  ssize_t count;
  do count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (count == -1 && errno == EINTR);
  if (count <= 0) return -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int)))
    return -1;
  int descriptor;
  memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

int cfuse_fusermount(const char *mountpoint, const char *options, char *message, size_t size) {
  message[0] = 0;
  int sockets[2] = {-1, -1}, errors[2] = {-1, -1}, device = -1;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == -1) return -1;
  if (pipe2(errors, O_CLOEXEC) == -1) goto done;
  sockets[1] = moved_up(sockets[1]);
  errors[1] = moved_up(errors[1]);
  if (sockets[1] == -1 || errors[1] == -1) goto done;

  char *arguments[] = {"fusermount3", "-o", (char *)options, "--", (char *)mountpoint, NULL};
  pid_t child;
  int failure = spawn_fusermount(arguments, sockets[1], errors[1], &child);
  if (failure != 0) {
    errno = failure;
    goto done;
  }
  close(sockets[1]);
  close(errors[1]);
  sockets[1] = errors[1] = -1;
  device = receive_descriptor(sockets[0]);
  read_message(errors[0], message, size);
  await(child);
  errno = EPERM;
  if (device != -1) message[0] = 0;

done:
  close_if_open(sockets[0]);
  close_if_open(sockets[1]);
  close_if_open(errors[0]);
  close_if_open(errors[1]);
  return device;
}

int cfuse_fusermount_unmount(const char *mountpoint, int lazily, char *message, size_t size) {
  message[0] = 0;
  int errors[2] = {-1, -1}, result = -1;
  if (pipe2(errors, O_CLOEXEC) == -1) return -1;
  errors[1] = moved_up(errors[1]);
  if (errors[1] == -1) goto done;

  char *plain[] = {"fusermount3", "-u", "--", (char *)mountpoint, NULL};
  char *lazy[] = {"fusermount3", "-u", "-z", "--", (char *)mountpoint, NULL};
  pid_t child;
  int failure = spawn_fusermount(lazily ? lazy : plain, -1, errors[1], &child);
  if (failure != 0) {
    errno = failure;
    goto done;
  }
  close(errors[1]);
  errors[1] = -1;
  read_message(errors[0], message, size);
  int code = await(child);
  errno = EBUSY;
  if (code == 0 || (code == -1 && message[0] == 0)) result = 0;

done:
  close_if_open(errors[0]);
  close_if_open(errors[1]);
  return result;
}
