"""Which request is which operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import bucketing, copying, deleting, describing, listing, moving, multipart, reading, writing
from .errors import TosError
from .receiving import META
from .service import Service
from .wire import Request, Response

Handler = Callable[[Service, Request], Response]


@dataclass(frozen=True)
class Operation:
    """An operation, by its name in the API reference."""

    name: str
    run: Handler

    @property
    def reads(self) -> bool:
        return self.name.startswith(("Get", "Head", "List"))


# Method and subresource; the first that the query has is taken, "" is for a request without one.
Routes = list[tuple[str, str, Operation]]

SERVICE: Routes = [("GET", "", Operation("ListBuckets", listing.list_buckets))]

BUCKET: Routes = [
    ("PUT", "rename", Operation("PutBucketRename", bucketing.put_bucket_rename)),
    ("GET", "rename", Operation("GetBucketRename", bucketing.get_bucket_rename)),
    ("DELETE", "rename", Operation("DeleteBucketRename", bucketing.delete_bucket_rename)),
    ("PUT", "versioning", Operation("PutBucketVersioning", bucketing.put_bucket_versioning)),
    ("GET", "versioning", Operation("GetBucketVersioning", bucketing.get_bucket_versioning)),
    ("PUT", "trash", Operation("PutBucketTrash", bucketing.put_bucket_trash)),
    ("GET", "trash", Operation("GetBucketTrash", bucketing.get_bucket_trash)),
    ("GET", "location", Operation("GetBucketLocation", bucketing.get_bucket_location)),
    ("GET", "bucketInfo", Operation("GetBucketInfo", bucketing.get_bucket_info)),
    ("GET", "uploads", Operation("ListMultipartUploads", multipart.list_multipart_uploads)),
    ("GET", "list-type", Operation("ListObjectsType2", listing.list_objects_type2)),
    ("POST", "delete", Operation("DeleteMultiObjects", deleting.delete_multi_objects)),
    ("PUT", "", Operation("CreateBucket", bucketing.create_bucket)),
    ("HEAD", "", Operation("HeadBucket", bucketing.head_bucket)),
    ("DELETE", "", Operation("DeleteBucket", bucketing.delete_bucket)),
    ("GET", "", Operation("ListObjects", listing.list_objects)),
]

UPLOAD_PART_COPY = Operation("UploadPartCopy", multipart.upload_part_copy)
COPY_OBJECT = Operation("CopyObject", copying.copy_object)

OBJECT: Routes = [
    ("GET", "uploadId", Operation("ListParts", multipart.list_parts)),
    ("PUT", "uploadId", Operation("UploadPart", multipart.upload_part)),
    ("POST", "uploadId", Operation("CompleteMultipartUpload", multipart.complete_multipart_upload)),
    ("DELETE", "uploadId", Operation("AbortMultipartUpload", multipart.abort_multipart_upload)),
    ("POST", "uploads", Operation("CreateMultipartUpload", multipart.create_multipart_upload)),
    ("GET", "stat", Operation("GetFileStatus", reading.get_file_status)),
    ("PUT", "symlink", Operation("PutSymlink", describing.put_symlink)),
    ("GET", "symlink", Operation("GetSymlink", describing.get_symlink)),
    ("PUT", "tagging", Operation("PutObjectTagging", describing.put_object_tagging)),
    ("GET", "tagging", Operation("GetObjectTagging", describing.get_object_tagging)),
    ("DELETE", "tagging", Operation("DeleteObjectTagging", describing.delete_object_tagging)),
    ("PUT", "acl", Operation("PutObjectACL", describing.put_object_acl)),
    ("GET", "acl", Operation("GetObjectACL", describing.get_object_acl)),
    ("PUT", "rename", Operation("RenameObject", moving.rename_object)),
    ("POST", "metadata", Operation("SetObjectMeta", describing.set_object_meta)),
    ("POST", "time", Operation("SetObjectTime", describing.set_object_time)),
    ("POST", "restore", Operation("RestoreObject", describing.restore_object)),
    ("POST", "append", Operation("AppendObject", writing.append_object)),
    ("POST", "modify", Operation("ModifyObject", writing.modify_object)),
    ("GET", "", Operation("GetObject", reading.get_object)),
    ("HEAD", "", Operation("HeadObject", reading.head_object)),
    ("PUT", "", Operation("PutObject", writing.put_object)),
    ("DELETE", "", Operation("DeleteObject", deleting.delete_object)),
]

# Subresources that the real service has and the gateway doesn't: they are refused, not overlooked.
UNKNOWN = frozenset([
    "accelerate", "acl", "cors", "encryption", "fetch", "inventory", "lifecycle", "logging", "mirror",
    "notification", "objectExpires", "policy", "quota", "replication", "storageClass", "tagging", "versioning",
    "versions", "website", "x-tos-process"])

# The headers of the protocol that the gateway minds. Any other is refused too: one that is overlooked, such
# as a condition or an encryption, would change what the request means.
KNOWN_HEADERS = frozenset("x-tos-" + name for name in [
    "acl", "az-redundancy", "bucket-type", "complete-all", "content-sha256", "copy-source", "copy-source-if-match",
    "copy-source-if-modified-since", "copy-source-if-none-match", "copy-source-if-unmodified-since",
    "copy-source-range", "date", "forbid-overwrite", "if-match", "metadata-directive", "modify-timestamp",
    "modify-timestamp-ns", "project-name", "recursive-mkdir", "security-token", "server-side-encryption",
    "server-side-encryption-kms-key-id", "storage-class",
    "symlink-bucket", "symlink-target", "tagging", "tagging-directive", "traffic-limit"])


def operation(request: Request) -> Operation:
    """The operation that a request is; raises NotImplemented."""
    strange = {name for name in request.headers if name.startswith("x-tos-") and not name.startswith(META)}
    strange -= KNOWN_HEADERS
    if strange or "tos-chunked" in request.headers.get("content-encoding", ""):
        raise TosError("NotImplemented", "the gateway doesn't know " + (", ".join(sorted(strange)) or "tos-chunked"))
    routes = OBJECT if request.key else BUCKET if request.bucket else SERVICE
    for method, subresource, found in routes:
        if method != request.method or (subresource and not request.has(subresource)):
            continue
        if not subresource and not UNKNOWN.isdisjoint(request.query):
            break
        if copying.SOURCE in request.headers and found.name in ("PutObject", "UploadPart"):
            return COPY_OBJECT if found.name == "PutObject" else UPLOAD_PART_COPY
        return found
    raise TosError("NotImplemented")
