// Answers whose libfuse spelling is a macro, a flexible array, or wants memory of the thread's own.
#include "cfuse.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A spliced answer costs no copy in user space but some set-up; below this size a copy is cheaper.
enum { splice_size_min = 64 * 1024 };
// libfuse wants a pipe as large as the answer and four pages more, and the kernel gives an
// ordinary process no pipe above 1 MiB: an answer of 1 MiB would take libfuse's fallback, which
// costs five times a copy through a buffer that is kept.
enum { splice_size_max = 512 * 1024 };

struct thread_buffer {
  size_t size;
  void *bytes;
};

static pthread_key_t buffer_key;
static pthread_once_t buffer_once = PTHREAD_ONCE_INIT;
static _Thread_local struct thread_buffer buffer;

static void free_buffer(void *bytes) { free(bytes); }

static void make_buffer_key(void) { pthread_key_create(&buffer_key, free_buffer); }

void *cfuse_thread_buffer(size_t size) {
  if (size <= buffer.size) return buffer.bytes;
  pthread_once(&buffer_once, make_buffer_key);
  void *bytes = NULL;
  // Page-aligned, so that the kernel copies whole pages.
  if (posix_memalign(&bytes, 4096, size) != 0) return NULL;
  free(buffer.bytes);
  buffer.bytes = bytes;
  buffer.size = size;
  pthread_setspecific(buffer_key, bytes);  // frees it when the thread ends
  return bytes;
}

// A spliced answer to a file that ends early would be a short one, which the kernel takes for the
// end of the file that is being read.
static int is_whole(int file, off_t end) {
  struct stat status;
  return fstat(file, &status) == 0 && status.st_size >= end;
}

static int reply_spliced(fuse_req_t request, int file, off_t offset, size_t count) {
  struct fuse_bufvec source = FUSE_BUFVEC_INIT(count);
  source.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
  source.buf[0].fd = file;
  source.buf[0].pos = offset;
  // Not FUSE_BUF_SPLICE_MOVE: a page that moves into the mount's page cache leaves the file's.
  return fuse_reply_data(request, &source, 0);
}

static int reply_copied(fuse_req_t request, int file, off_t offset, size_t count) {
  if (count == 0) return fuse_reply_buf(request, NULL, 0);
  char *bytes = cfuse_thread_buffer(count);
  if (bytes == NULL) return fuse_reply_err(request, ENOMEM);
  size_t done = 0;
  while (done < count) {
    ssize_t part = pread(file, bytes + done, count - done, offset + (off_t)done);
    if (part == -1 && errno == EINTR) continue;
    if (part <= 0) return fuse_reply_err(request, EIO);
    done += (size_t)part;
  }
  return fuse_reply_buf(request, bytes, count);
}

int cfuse_reply_file(fuse_req_t request, int file, off_t offset, size_t count) {
  // libfuse gives each thread that splices a pipe, and frees those of its own threads only.
  int splices = count >= splice_size_min && count <= splice_size_max && cfuse_is_worker();
  if (!splices) return reply_copied(request, file, offset, count);
  if (!is_whole(file, offset + (off_t)count)) return fuse_reply_err(request, EIO);
  return reply_spliced(request, file, offset, count);
}

size_t cfuse_add_entry(void *bytes, size_t room, const uint8_t *name, size_t name_size,
                       const struct stat *status, const struct fuse_entry_param *entry,
                       off_t next_offset) {
  char text[CFUSE_NAME_MAX + 1];
  if (name_size > CFUSE_NAME_MAX) name_size = CFUSE_NAME_MAX;
  memcpy(text, name, name_size);
  text[name_size] = 0;
  if (entry != NULL) return fuse_add_direntry_plus(NULL, bytes, room, text, entry, next_offset);
  return fuse_add_direntry(NULL, bytes, room, text, status, next_offset);
}

size_t cfuse_entry_size(size_t name_size, int with_attributes) {
  char text[CFUSE_NAME_MAX + 1];
  if (name_size > CFUSE_NAME_MAX) name_size = CFUSE_NAME_MAX;
  memset(text, 'a', name_size);
  text[name_size] = 0;
  if (with_attributes) return fuse_add_direntry_plus(NULL, NULL, 0, text, NULL, 0);
  return fuse_add_direntry(NULL, NULL, 0, text, NULL, 0);
}
