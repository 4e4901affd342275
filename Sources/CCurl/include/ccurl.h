// libcurl. Its setters are variadic, which Swift can't call.
#pragma once
#include <curl/curl.h>
