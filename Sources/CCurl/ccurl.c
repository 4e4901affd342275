#include "ccurl.h"
#include <malloc.h>

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_callbacks(CURL *easy, const ccurl_callbacks *callbacks, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callbacks->body);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callbacks->header);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, callbacks->send);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, callbacks->seek);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SEEKDATA, context);
  if (code == CURLE_OK) {
    code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callbacks->open_socket);
  }
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callbacks->connected);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
  return code;
}

CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

CURLcode ccurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

void *ccurl_get_private(CURL *easy) {
  char *value = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value) != CURLE_OK) return NULL;
  return value;
}

void ccurl_trim_heap(void) { malloc_trim(0); }

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

bool ccurl_multi_next_finished(CURLM *multi, CURL **easy, CURLcode *code) {
  int remaining = 0;
  const CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &remaining)) != NULL) {
    if (message->msg != CURLMSG_DONE) continue;
    *easy = message->easy_handle;
    *code = message->data.result;
    return true;
  }
  return false;
}
