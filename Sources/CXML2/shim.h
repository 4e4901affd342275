// libxml2's reader. A system library rather than a C target: its headers live under a directory
// that only pkg-config knows.
#pragma once
#include <libxml/xmlreader.h>
#include <libxml/xmlerror.h>
