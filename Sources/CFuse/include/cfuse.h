// libfuse3's low-level interface, and the little C that stands between it and Swift. The version
// macro must be the same for C and for Swift, so it is set here and nowhere else.
#pragma once
#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>

#pragma clang assume_nonnull begin

// ---- The channel: a libfuse session on a /dev/fuse that we opened ourselves (channel.c) ----

/// A session and what its hooks remember; libfuse passes it to every operation as its user data.
struct cfuse_channel;

/// Creates a session on `device`, which it owns from then on; NULL with errno if that can't be.
///
/// `wanted` are INIT flags (`FUSE_*` of linux/fuse.h, the second word from bit 32 on) that go into
/// the answer if the kernel offers them, whatever libfuse makes of them.
struct cfuse_channel *_Nullable cfuse_channel_new(const struct fuse_lowlevel_ops *operations, int device,
                                                  uint64_t wanted);
/// Says whose operations these are, not retained, and what to call once, on a libfuse thread, when
/// the kernel has taken the answer to INIT.
void cfuse_channel_set_owner(struct cfuse_channel *channel, void *owner,
                             void (*ready)(void *owner));
/// The INIT flags that the kernel offered; valid once `ready` has been called.
uint64_t cfuse_channel_offered(const struct cfuse_channel *channel);
/// The INIT flags that we answered with; valid once `ready` has been called.
uint64_t cfuse_channel_agreed(const struct cfuse_channel *channel);
/// Serves requests on up to `thread_max` threads until the file system is unmounted or
/// `cfuse_channel_exit` is called; 0, or a negative errno: -EAGAIN without a thread or a timer.
int cfuse_channel_loop(struct cfuse_channel *channel, unsigned thread_max);
/// Tells the loop to end, and wakes it until it does; from any thread.
///
/// By a signal: libfuse 3.14 has no other way to end a loop that no request comes to. Its threads wait
/// in read(2), and the one that runs the loop waits on a semaphore out of reach.
void cfuse_channel_exit(struct cfuse_channel *channel);
/// Closes the device, which ends the connection and all that waits on it. Answers that come later
/// are dropped. Call it when the loop has ended.
void cfuse_channel_close(struct cfuse_channel *channel);
/// Frees the session. No request may be unanswered.
void cfuse_channel_free(struct cfuse_channel *channel);
/// The owner of the channel that `request` came through.
void *cfuse_owner(fuse_req_t request);
/// The owner, from the user data that libfuse passes to `init`.
void *cfuse_userdata_owner(void *userdata);
/// Whether the calling thread reads requests for some channel.
int cfuse_is_worker(void);
/// The device; once the channel is closed, its number leads to /dev/null.
int cfuse_channel_device(const struct cfuse_channel *channel);
/// INIT flags that libfuse 3.14 negotiates but leaves out of its answer, or doesn't know.
enum cfuse_init_flag {
  cfuse_init_parallel_dirops = 1 << 18,
  cfuse_init_handle_killpriv_v2 = 1 << 28,
};
/// The same for passthrough, too large for an enum: bit 5 of the second word.
#define CFUSE_INIT_PASSTHROUGH 0x2000000000ULL

// ---- Flags of system calls that Swift doesn't see (flags.c) ----

/// O_DIRECT of open(2).
extern const int cfuse_open_direct;
/// RENAME_NOREPLACE of renameat2(2).
extern const unsigned cfuse_rename_keeping;
/// FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE and FALLOC_FL_ZERO_RANGE of fallocate(2).
extern const int cfuse_allocate_keeping, cfuse_allocate_hole, cfuse_allocate_zeros;
/// XATTR_CREATE and XATTR_REPLACE of setxattr(2).
extern const int cfuse_attribute_creates, cfuse_attribute_replaces;

// ---- Passthrough: files that the kernel reads in our place (backing.c) ----

/// Registers an open file with the kernel; its number, or a negative errno.
int cfuse_backing_open(struct cfuse_channel *channel, int file);
/// Takes the registration back. Files that were opened with it stay as they are.
void cfuse_backing_close(struct cfuse_channel *channel, int backing);
/// Tries whether files below `directory` can be registered; 0, or a negative errno.
int cfuse_backing_probe(struct cfuse_channel *channel, const char *directory);
/// Answers an open: the kernel reads the file that is registered as `backing`. If `asks_for_reads`,
/// only what is mapped comes from there, and reads come to us.
int cfuse_reply_backed(fuse_req_t request, uint64_t handle, int backing, int asks_for_reads);

// ---- Answers that Swift can't spell (reply.c) ----

/// Answers with `count` bytes of a file; 0, or a negative errno if nobody took the answer. A file
/// that ends early or can't be read is answered with EIO.
int cfuse_reply_file(fuse_req_t request, int file, off_t offset, size_t count);
/// A buffer of at least `size` bytes, reused by the next call on this thread; NULL without memory.
void *_Nullable cfuse_thread_buffer(size_t size);
/// Writes one entry of a READDIR answer, or of a READDIRPLUS one if `entry` isn't NULL; returns
/// the bytes it takes, also if there isn't that much room and nothing was written.
size_t cfuse_add_entry(void *buffer, size_t room, const uint8_t *_Nullable name, size_t name_size,
                       const struct stat *_Nullable status, const struct fuse_entry_param *_Nullable entry,
                       off_t next_offset);
/// The bytes that an entry takes.
size_t cfuse_entry_size(size_t name_size, int with_attributes);
/// The longest name that an entry may have.
enum { CFUSE_NAME_MAX = 1024 };

// ---- Mounting (mount.c) ----

/// Opens /dev/fuse; a descriptor, or -1 with errno.
int cfuse_open_device(void);
/// mount(2); 0, or -1 with errno.
int cfuse_mount(const char *source, const char *target, const char *type, unsigned long flags,
                const char *data);
/// umount2(2) of exactly this path; 0, or -1 with errno. `forced` ends the connection first.
int cfuse_unmount(const char *target, int lazily, int forced);
/// Runs `fusermount3 -o options -- mountpoint`. Returns the device it mounted; or -1, with what it
/// printed in `message`, which is empty if it could not be run, with errno.
int cfuse_fusermount(const char *mountpoint, const char *options, char *message, size_t size);
/// Runs `fusermount3 -u [-z] -- mountpoint`; 0, or -1 as above.
int cfuse_fusermount_unmount(const char *mountpoint, int lazily, char *message, size_t size);

#pragma clang assume_nonnull end
