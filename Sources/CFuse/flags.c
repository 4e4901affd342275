// Flags of system calls that Swift doesn't see, as the kernel's requests carry them.
#include "cfuse.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/xattr.h>

const int cfuse_open_direct = O_DIRECT;
const unsigned cfuse_rename_keeping = RENAME_NOREPLACE;
const int cfuse_allocate_keeping = FALLOC_FL_KEEP_SIZE;
const int cfuse_allocate_hole = FALLOC_FL_PUNCH_HOLE;
const int cfuse_allocate_zeros = FALLOC_FL_ZERO_RANGE;
const int cfuse_attribute_creates = XATTR_CREATE;
const int cfuse_attribute_replaces = XATTR_REPLACE;
