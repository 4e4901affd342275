// System calls that are variadic or macros, and so out of Swift's reach.
#pragma once
#include <sys/types.h>

/// open(2) below a directory descriptor.
int clinux_openat(int directory, const char *path, int flags, mode_t mode);
/// Advisory whole-file lock; 0, or -1 with errno.
int clinux_flock(int descriptor, int operation);
/// Asks the kernel to start writing a range back without waiting for it.
int clinux_start_writeback(int descriptor, off_t offset, off_t count);
/// Makes a range of a file a hole, which reads as zeros; 0, or -1 with errno.
int clinux_punch_hole(int descriptor, off_t offset, off_t count);
/// Names the calling thread, for `ps -L`; 15 bytes at most.
void clinux_name_thread(const char *name);
/// Gives each thread to come that doesn't ask for a stack of its own size one of `stack_size` bytes.
void clinux_prepare_threads(size_t stack_size);
/// Has all threads allocate from one arena, instead of reserving 64 MiB of addresses for each; not 0
/// if that was done.
int clinux_share_arena(void);
/// How many processors there are.
int clinux_processor_count(void);
/// The bytes of addresses that this process may take (`ulimit -v`); -1 if there is no limit.
long clinux_address_limit(void);
/// The bytes of private writable memory that it may take (`ulimit -d`); -1 if there is no limit.
long clinux_data_limit(void);
/// The user and process at the other end of a local socket; 0, or -1 with errno.
int clinux_peer(int descriptor, uid_t *user, pid_t *process);
/// Raises the limit of open files as far as it goes and returns it; -1 with errno.
long clinux_raise_open_files(void);
/// Keeps this process's memory out of core files; 0, or -1 with errno.
int clinux_forbid_core_files(void);
/// The columns of a terminal; -1 if the descriptor is none.
int clinux_terminal_width(int descriptor);
/// Starts a program, looked up in PATH: `descriptors[i]` becomes its descriptor i, every other one
/// is closed, no signal is blocked or ignored. Returns 0 or an errno.
int clinux_spawn(pid_t *process, const char *path, char *const arguments[],
                 char *const environment[], const int descriptors[], int count, int new_session);
/// Not 0 if the process ignores a signal.
int clinux_is_ignored(int number);
/// Ends the process as the signal does where nobody looks after it; returns if that doesn't end it.
void clinux_end_by_signal(int number);
/// accept(2) of a connection that is closed on exec.
int clinux_accept(int listener);
/// The environment, ended by a null pointer.
char **clinux_environment(void);
/// pipe(2) whose ends are closed on exec; 0, or -1 with errno.
int clinux_pipe(int ends[2]);

/// copy_file_range(2): bytes copied by the kernel, 0 at the end of the source, or -1 with errno.
ssize_t clinux_copy_range(int source, off_t source_offset, int target, off_t target_offset,
                          size_t count);
/// renameat2(2) that fails with EEXIST if the target exists; 0, or -1 with errno.
int clinux_rename_exclusive(int source_directory, const char *source, int target_directory,
                            const char *target);
/// fgetxattr(2).
ssize_t clinux_get_attribute(int descriptor, const char *name, void *value, size_t size);
/// fsetxattr(2), whether there is one of that name or not.
int clinux_set_attribute(int descriptor, const char *name, const void *value, size_t size);
/// fremovexattr(2).
int clinux_remove_attribute(int descriptor, const char *name);
/// flistxattr(2): the names, each ended by a NUL.
ssize_t clinux_list_attributes(int descriptor, void *names, size_t size);
