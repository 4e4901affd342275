// libcurl. Its setters and getters are variadic, which Swift can't call: here is one for each type
// that an option or an answer may have.
#pragma once
#include <stdbool.h>
#include <curl/curl.h>

/// Body bytes and header lines: returns how many of `size * count` bytes were taken.
typedef size_t (*ccurl_receive)(char *bytes, size_t size, size_t count, void *context);
/// Fills a buffer of `size * count` bytes with the request's body; CURL_READFUNC_ABORT ends it.
typedef size_t (*ccurl_send)(char *buffer, size_t size, size_t count, void *context);
/// Moves the request's body to `offset`; returns one of CURL_SEEKFUNC_...
typedef int (*ccurl_seek)(void *context, curl_off_t offset, int origin);
/// Called when the connection stands, before the request goes out; returns CURL_PREREQFUNC_...
typedef int (*ccurl_connected)(
    void *context, char *server_address, char *own_address, int server_port, int own_port);
/// Makes a socket for a connection, or returns CURL_SOCKET_BAD.
typedef curl_socket_t (*ccurl_open_socket)(
    void *context, curlsocktype purpose, struct curl_sockaddr *address);

/// The callbacks of a transfer.
typedef struct {
  ccurl_receive body;
  ccurl_receive header;
  ccurl_send send;
  ccurl_seek seek;
  ccurl_open_socket open_socket;
  ccurl_connected connected;
} ccurl_callbacks;

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value);
/// libcurl copies the string; a null pointer restores the default.
CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value);
/// libcurl keeps the pointer.
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value);
/// Sets the callbacks of a transfer and the context that all of them get.
CURLcode ccurl_set_callbacks(CURL *easy, const ccurl_callbacks *callbacks, void *context);

CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value);
CURLcode ccurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value);
/// What was set as CURLOPT_PRIVATE, or null.
void *ccurl_get_private(CURL *easy);

/// Gives the memory of libcurl's freed buffers, which malloc keeps, back to the system.
void ccurl_trim_heap(void);

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
/// Takes the next finished transfer out of the multi handle's list; false if there is none.
bool ccurl_multi_next_finished(CURLM *multi, CURL **easy, CURLcode *code);
