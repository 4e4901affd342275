"""The one prefix that the probes write below, and its removal."""

import time
import uuid


class Workplace:
    """A service with a prefix of our own."""

    def __init__(self, service):
        self.service = service
        self.prefix = "dipper-verify-%s/" % uuid.uuid4().hex
        self.is_tree = False

    def key(self, name):
        return self.prefix + name

    def ask(self, method, name="", query=None, headers=None, body=b"", **how):
        """Asks about one of our own keys."""
        return self.service.ask(method, self.key(name), query, headers, body, **how)

    def put(self, name, body=b"", **headers):
        answer = self.ask("PUT", name, headers={n.replace("_", "-"): v for n, v in headers.items()}, body=body)
        if not answer.is_success:
            raise RuntimeError("an object could not be stored: %s" % answer)
        return answer

    def upload(self, name):
        """Begins a multipart upload and gives its id."""
        answer = self.ask("POST", name, {"uploads": ""})
        found = answer.document.get("UploadId") or answer.document.get("UploadID")
        if not found:
            raise RuntimeError("an upload could not be begun: %s" % answer)
        return found

    def keys(self):
        """All our keys, in the order of the listing."""
        found, token = [], None
        while True:
            query = {"list-type": "2", "prefix": self.prefix, "max-keys": "1000"}
            if token:
                query["continuation-token"] = token
            page = self.service.ask("GET", "", query)
            if not page.is_success:
                raise RuntimeError("the bucket can't be listed: %s" % page)
            found += [entry["Key"] for entry in page.document.get("Contents") or []]
            token = page.document.get("NextContinuationToken")
            if not page.document.get("IsTruncated") or not token:
                return found

    def uploads(self):
        """Our unfinished uploads as key and id."""
        page = self.service.ask("GET", "", {"uploads": "", "prefix": self.prefix, "max-uploads": "1000"})
        return [(entry["Key"], entry.get("UploadId") or entry.get("UploadID"))
                for entry in page.document.get("Uploads") or [] if entry["Key"].startswith(self.prefix)]

    def clear(self):
        """Removes what the probes left, and gives what could not be removed.

        Once more if something is there then, or if a request was left without its answer: it may be done later."""
        for pause in (0, 0.5, 2):
            time.sleep(pause)
            left = self.clear_once()
            if not left and not self.service.unanswered_count:
                break
        return left

    def clear_once(self):
        """Removes what is there, and gives what is there still."""
        for key, upload in self.uploads():
            self.service.ask("DELETE", key, {"uploadId": upload})
        if self.is_tree:
            self.service.ask("DELETE", self.prefix, {"recursive": "true", "skipTrash": "true"})
        for key in sorted(self.keys(), key=len, reverse=True):
            self.service.ask("DELETE", key)
        return self.keys() + ["%s (unfinished upload)" % key for key, _ in self.uploads()]
