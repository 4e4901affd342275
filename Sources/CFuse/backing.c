// Passthrough: the kernel reads a file of ours in place of asking us for its bytes.
//
// libfuse 3.14 knows nothing of it, nor do the headers of that time, so the numbers stand here.
// Source: linux/fuse.h, Linux 6.9.
#include "cfuse.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct backing_map {
  int32_t file;
  uint32_t flags;
  uint64_t padding;
};

#define BACKING_OPEN _IOW(229, 1, struct backing_map)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)

// The answer to OPEN, whose last word was padding before.
struct open_answer {
  uint64_t handle;
  uint32_t flags;
  int32_t backing;
};

_Static_assert(sizeof(struct open_answer) == sizeof(struct fuse_open_out), "the protocol's size");

enum { open_direct_io = 1 << 0, open_no_flush = 1 << 5, open_passthrough = 1 << 7 };

int cfuse_backing_open(struct cfuse_channel *channel, int file) {
  struct backing_map map = {.file = file};
  int backing = ioctl(cfuse_channel_device(channel), BACKING_OPEN, &map);
  return backing == -1 ? -errno : backing;
}

void cfuse_backing_close(struct cfuse_channel *channel, int backing) {
  uint32_t number = (uint32_t)backing;
  ioctl(cfuse_channel_device(channel), BACKING_CLOSE, &number);
}

int cfuse_backing_probe(struct cfuse_channel *channel, const char *directory) {
  // Only a regular file can be registered; this one has no name and goes with its descriptor.
  int file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file == -1) return -errno;
  int backing = cfuse_backing_open(channel, file);
  close(file);
  if (backing < 0) return backing;
  cfuse_backing_close(channel, backing);
  return 0;
}

int cfuse_reply_backed(fuse_req_t request, uint64_t handle, int backing, int asks_for_reads) {
  // Above all not that pages are kept, as none are. Nothing is written, so a close is nothing to us.
  struct open_answer answer = {
      .handle = handle,
      .flags = open_passthrough | open_no_flush | (asks_for_reads ? open_direct_io : 0),
      .backing = backing,
  };
  return fuse_reply_buf(request, (const char *)&answer, sizeof answer);
}
