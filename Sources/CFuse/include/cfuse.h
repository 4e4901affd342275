// libfuse3's low-level interface. The version macro must be the same for C and for Swift, so it is
// set here and nowhere else.
#pragma once
#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
