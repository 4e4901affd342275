// libxml2's parser. A system library rather than a C target: its headers live under a directory
// that only pkg-config knows.
#pragma once
#include <libxml/xmlversion.h>
// libxml2's own headers include ICU's, whose types Foundation defines too: a program that loads
// both modules would not compile. Only a struct that we never look into is the poorer for it.
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>
