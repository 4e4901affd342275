// libxml2's parser. A system library rather than a C target: its headers live under a directory
// that only pkg-config knows.
#pragma once
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>
