// A libfuse session whose reads and writes of /dev/fuse go through hooks of ours.
//
// Why: libfuse 3.14 negotiates some capabilities but leaves their bits out of its answer to INIT
// (FUSE_CAP_PARALLEL_DIROPS is one: without it, the kernel sends the lookups of one directory one
// by one), and it doesn't know others. The write hook adds the bits that were asked for, and only
// those that the kernel offered. After INIT it costs one comparison per answer.
//
// To add a capability, pass its bit in `wanted`; flags of the second word (`flags2`) are the bits
// from 32 on and need nothing else, because libfuse echoes FUSE_INIT_EXT. A capability that comes
// with a value of its own gets it in `answer_init`.
//
// Source: fuse_lowlevel.c and fuse_loop_mt.c of libfuse 3.14.0; linux/fuse.h.
#include "cfuse.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// Passthrough's value: the file may lie in a file system that lies on no other (depth 0), so that
// ours counts as one above it. Newer headers call the word `max_stack_depth`.
// Source: process_init_reply in fs/fuse/inode.c, and FUSE_PASSTHROUGH in linux/fuse.h, Linux 6.9.
enum { stack_depth_max = 1, stack_depth_word = 0 };

enum cfuse_state {
  cfuse_state_new,      // INIT has not been answered
  cfuse_state_running,  // it has
  cfuse_state_closed,   // the device is gone; late answers are dropped
};

struct cfuse_channel {
  struct fuse_session *session;
  void *owner;
  void (*ready)(void *owner);
  int device;  // after the close, its number leads to /dev/null
  int grave;   // what replaces it, opened early: a full descriptor table must not stop that
  uint64_t wanted;
  // Touched by the thread that handles INIT, before the state changes.
  uint64_t offered;
  uint64_t agreed;
  uint64_t init_unique;
  _Atomic int state;  // an enum cfuse_state
  pthread_mutex_t lock;
  timer_t alarm;   // with `lock` held; wakes the thread in the loop
  int is_looping;  // with `lock` held
};

_Static_assert(cfuse_init_parallel_dirops == FUSE_PARALLEL_DIROPS, "the protocol's number");
_Static_assert(cfuse_init_handle_killpriv_v2 == FUSE_HANDLE_KILLPRIV_V2, "the protocol's number");

// Ignored by default, so that it does no harm where nobody waits for it.
enum { wake_signal = SIGURG };

static _Thread_local int is_worker;

int cfuse_is_worker(void) { return is_worker; }

static void note_init(struct cfuse_channel *channel, const void *request, ssize_t count) {
  const struct fuse_in_header *header = request;
  const struct fuse_init_in *init = (const void *)(header + 1);
  if (count < (ssize_t)(sizeof *header + offsetof(struct fuse_init_in, flags2))) return;
  if (header->opcode != FUSE_INIT) return;
  channel->init_unique = header->unique;
  channel->offered = init->flags;
  if ((init->flags & FUSE_INIT_EXT) && count >= (ssize_t)(sizeof *header + sizeof *init))
    channel->offered |= (uint64_t)init->flags2 << 32;
}

#if __has_feature(thread_sanitizer)
// libfuse cancels its threads in this call when the loop ends. The sanitizer takes a thread that is
// cancelled in its own read(2) for broken; it leaves preadv2 alone.
static ssize_t read_device(int device, void *buffer, size_t size) {
  struct iovec part = {buffer, size};
  return preadv2(device, &part, 1, -1, 0);
}
#else
static ssize_t read_device(int device, void *buffer, size_t size) {
  return read(device, buffer, size);
}
#endif

static ssize_t hook_read(int device, void *buffer, size_t size, void *userdata) {
  struct cfuse_channel *channel = userdata;
  if (!is_worker) {
    is_worker = 1;
    pthread_setname_np(pthread_self(), "dipper-fuse");
  }
  ssize_t count = read_device(device, buffer, size);
  if (atomic_load_explicit(&channel->state, memory_order_relaxed) == cfuse_state_new) {
    int saved = errno;
    note_init(channel, buffer, count);
    errno = saved;
  }
  return count;
}

// Sends libfuse's answer to INIT with the wanted bits added.
static ssize_t answer_init(struct cfuse_channel *channel, int device, struct iovec *parts,
                           int count) {
  struct fuse_init_out *answer = parts[1].iov_base;
  uint64_t added = channel->wanted & channel->offered;
  if (!(answer->flags & FUSE_INIT_EXT)) added &= UINT32_MAX;
  answer->flags |= (uint32_t)added;
  answer->flags2 |= (uint32_t)(added >> 32);
  if (added & CFUSE_INIT_PASSTHROUGH) answer->unused[stack_depth_word] = stack_depth_max;
  channel->agreed = answer->flags | (uint64_t)answer->flags2 << 32;
  ssize_t sent = writev(device, parts, count);
  if (sent < 0) return sent;
  // From here on the kernel sends other requests. It took our read-ahead limit during the write,
  // so `ready` may now raise the one of the mount.
  int expected = cfuse_state_new;
  if (atomic_compare_exchange_strong(&channel->state, &expected, cfuse_state_running))
    channel->ready(channel->owner);
  return sent;
}

static ssize_t hook_writev(int device, struct iovec *parts, int count, void *userdata) {
  struct cfuse_channel *channel = userdata;
  int state = atomic_load_explicit(&channel->state, memory_order_relaxed);
  if (state == cfuse_state_running) return writev(device, parts, count);
  if (state == cfuse_state_closed) {
    // What libfuse takes without a word: the kernel doesn't know the request any more.
    errno = ENOENT;
    return -1;
  }
  const struct fuse_out_header *header = parts[0].iov_base;
  if (header->unique == channel->init_unique && header->error == 0 && count == 2 &&
      parts[1].iov_len >= sizeof(struct fuse_init_out))
    return answer_init(channel, device, parts, count);
  return writev(device, parts, count);
}

// Without this hook libfuse would not splice answers on a device that isn't its own.
static ssize_t hook_splice_send(int source, off_t *source_offset, int device, off_t *offset,
                                size_t count, unsigned flags, void *userdata) {
  (void)userdata;
  return splice(source, source_offset, device, offset, count, flags);
}

struct cfuse_channel *cfuse_channel_new(const struct fuse_lowlevel_ops *operations, int device,
                                        uint64_t wanted) {
  static const struct fuse_custom_io hooks = {
      .writev = hook_writev,
      .read = hook_read,
      .splice_send = hook_splice_send,
  };
  struct cfuse_channel *channel = calloc(1, sizeof *channel);
  if (channel == NULL) return NULL;
  pthread_mutex_init(&channel->lock, NULL);
  channel->device = device;
  channel->wanted = wanted;
  channel->grave = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (channel->grave == -1) goto failed;

  char *arguments[] = {"dipper", NULL};
  struct fuse_args args = FUSE_ARGS_INIT(1, arguments);
  errno = ENOMEM;
  channel->session = fuse_session_new(&args, operations, sizeof *operations, channel);
  fuse_opt_free_args(&args);
  if (channel->session == NULL) goto failed;
  int failure = fuse_session_custom_io(channel->session, &hooks, device);
  if (failure != 0) {
    fuse_session_destroy(channel->session);
    errno = -failure;
    goto failed;
  }
  return channel;

failed:;
  int saved = errno;
  if (channel->grave != -1) close(channel->grave);
  pthread_mutex_destroy(&channel->lock);
  free(channel);
  errno = saved;
  return NULL;
}

void cfuse_channel_set_owner(struct cfuse_channel *channel, void *owner,
                             void (*ready)(void *owner)) {
  channel->owner = owner;
  channel->ready = ready;
}

int cfuse_channel_device(const struct cfuse_channel *channel) { return channel->device; }

uint64_t cfuse_channel_offered(const struct cfuse_channel *channel) { return channel->offered; }

uint64_t cfuse_channel_agreed(const struct cfuse_channel *channel) { return channel->agreed; }

static void ignore_signal(int signal) { (void)signal; }

// A timer of the thread that calls; 0, or an errno.
static int make_alarm(timer_t *alarm) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = wake_signal};
  event._sigev_un._tid = gettid();  // glibc 2.36 has no name for it
  return timer_create(CLOCK_MONOTONIC, &event, alarm) == 0 ? 0 : errno;
}

int cfuse_channel_loop(struct cfuse_channel *channel, unsigned thread_max) {
  struct fuse_loop_config *config = fuse_loop_cfg_create();
  if (config == NULL) return -ENOMEM;
  // Idle threads are kept, as is the default: to start one costs more than many requests.
  fuse_loop_cfg_set_max_threads(config, thread_max);

  // A handler that does nothing, and no SA_RESTART, so that the signal ends a wait.
  struct sigaction action = {.sa_handler = ignore_signal};
  sigaction(wake_signal, &action, NULL);
  sigset_t wake, before;
  sigemptyset(&wake);
  sigaddset(&wake, wake_signal);

  timer_t alarm;
  int failure = -make_alarm(&alarm);
  if (failure == 0) {
    pthread_sigmask(SIG_UNBLOCK, &wake, &before);
    pthread_mutex_lock(&channel->lock);
    channel->alarm = alarm;
    channel->is_looping = 1;
    pthread_mutex_unlock(&channel->lock);
    failure = fuse_session_loop_mt(channel->session, config);
    pthread_mutex_lock(&channel->lock);
    channel->is_looping = 0;
    timer_delete(alarm);
    pthread_mutex_unlock(&channel->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    // The same number as EPERM's, but it is what fuse_loop_start_thread returns without a thread.
    if (failure == -1) failure = -EAGAIN;
  }
  fuse_loop_cfg_destroy(config);
  return failure;
}

void cfuse_channel_exit(struct cfuse_channel *channel) {
  fuse_session_exit(channel->session);
  // Again and again, because a signal between the loop's look at the flag and its sleep is lost.
  const struct itimerspec often = {
      .it_value = {.tv_nsec = 1}, .it_interval = {.tv_nsec = 5 * 1000 * 1000}};
  pthread_mutex_lock(&channel->lock);
  if (channel->is_looping) timer_settime(channel->alarm, 0, &often, NULL);
  pthread_mutex_unlock(&channel->lock);
}

void cfuse_channel_close(struct cfuse_channel *channel) {
  atomic_store(&channel->state, cfuse_state_closed);
  // The number stays taken until the last late answer is dropped, so that it can't be written
  // into somebody else's file.
  dup3(channel->grave, channel->device, O_CLOEXEC);
  close(channel->grave);
  channel->grave = -1;
}

void cfuse_channel_free(struct cfuse_channel *channel) {
  if (channel->grave != -1) close(channel->grave);
  fuse_session_destroy(channel->session);  // closes the device
  pthread_mutex_destroy(&channel->lock);
  free(channel);
}

void *cfuse_owner(fuse_req_t request) { return cfuse_userdata_owner(fuse_req_userdata(request)); }

void *cfuse_userdata_owner(void *userdata) { return ((struct cfuse_channel *)userdata)->owner; }
