"""The S3 server behind the gateway: what the gateway asks of it, and its errors as those of TOS."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from .errors import TosError
from .wire import CHUNK, bare

# The headers that describe an object, and their names in boto3.
DESCRIPTIONS = {
    "content-type": "ContentType",
    "cache-control": "CacheControl",
    "content-disposition": "ContentDisposition",
    "content-encoding": "ContentEncoding",
    "content-language": "ContentLanguage",
}


class Changed(Exception):
    """The object isn't the one that was meant any more."""


@dataclass
class Found:
    """An object as the server has it."""

    key: str
    etag: str
    size: int
    modified: datetime
    headers: dict[str, str] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    # Of a bucket with versions.
    version: str | None = None


@dataclass(frozen=True)
class Source:
    """What a copy is made of."""

    bucket: str
    key: str
    etag: str
    version: str | None

    @property
    def name(self) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self.key, **_version(self.version)}


def _version(version: str | None) -> dict[str, str]:
    return {} if version is None else {"VersionId": version}


@dataclass
class Page:
    """A page of a listing."""

    found: list[Found]
    prefixes: list[str]
    next_token: str | None


class Backend:
    """An S3 server; every call may come from any thread."""

    def __init__(self, url: str, access_key: str, secret_key: str) -> None:
        self.url = url
        self._s3 = boto3.client(
            "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            config=Config(s3={"addressing_style": "path"}, max_pool_connections=128,
                          retries={"max_attempts": 3}, read_timeout=300,
                          request_checksum_calculation="when_required",
                          response_checksum_validation="when_required"))

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except ClientError as failure:
            answer = failure.response
            code = answer.get("Error", {}).get("Code", "")
            status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
            if status == 412:
                raise Changed from failure
            if code in ("NoSuchBucket", "NoSuchUpload", "EntityTooSmall", "InvalidPart", "BucketNotEmpty"):
                raise TosError(code) from failure
            if status == 404:
                raise TosError("NoSuchKey") from failure
            if status == 405:
                raise TosError("MethodNotAllowed") from failure
            if status == 416:
                raise TosError("Requested Range Not Satisfiable") from failure
            if status == 400:
                raise TosError("InvalidArgument", "the server behind: %s" % failure) from failure
            raise TosError("ServiceUnavailable", "the server behind: %s" % failure) from failure
        except BotoCoreError as failure:
            raise TosError("ServiceUnavailable", "the server behind: %s" % failure) from failure

    # Buckets.

    def buckets(self) -> list[tuple[str, datetime]]:
        with self._errors():
            return [(entry["Name"], entry["CreationDate"]) for entry in self._s3.list_buckets()["Buckets"]]

    def create_bucket(self, bucket: str) -> None:
        with self._errors():
            self._s3.create_bucket(Bucket=bucket)

    def has_bucket(self, bucket: str) -> bool:
        try:
            with self._errors():
                self._s3.head_bucket(Bucket=bucket)
        except TosError as failure:
            if failure.status == 404:
                return False
            raise
        return True

    def set_versioning(self, bucket: str, status: str) -> None:
        with self._errors():
            self._s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": status})

    def delete_bucket(self, bucket: str) -> None:
        with self._errors():
            self._s3.delete_bucket(Bucket=bucket)

    def page(self, bucket: str, prefix: str, delimiter: str, count: int, token: str | None = None,
             after: str | None = None) -> Page:
        """Up to `count` keys and common prefixes behind a token of an earlier page, or behind a key."""
        options: dict[str, Any] = {"Bucket": bucket, "Prefix": prefix, "Delimiter": delimiter, "MaxKeys": count}
        if token:
            options["ContinuationToken"] = token
        elif after:
            options["StartAfter"] = after
        with self._errors():
            answer = self._s3.list_objects_v2(**{name: value for name, value in options.items() if value != ""})
        found = [Found(entry["Key"], bare(entry["ETag"]), entry["Size"], entry["LastModified"])
                 for entry in answer.get("Contents", [])]
        prefixes = [entry["Prefix"] for entry in answer.get("CommonPrefixes", [])]
        return Page(found, prefixes, answer.get("NextContinuationToken") if answer["IsTruncated"] else None)

    def everything(self, bucket: str, prefix: str) -> Iterator[Found]:
        """All objects below a prefix."""
        token = None
        while True:
            page = self.page(bucket, prefix, "", 1000, token)
            yield from page.found
            token = page.next_token
            if token is None:
                return

    # Objects.

    def head(self, bucket: str, key: str, version: str | None = None) -> Found:
        # SeaweedFS has an answer for a directory without an object of its own, but doesn't list it.
        if key.endswith("/") and all(one.key != key for one in self.page(bucket, key, "", 1).found):
            raise TosError("NoSuchKey")
        with self._errors():
            answer = self._s3.head_object(Bucket=bucket, Key=key, **_version(version))
        headers = {header: answer[name] for header, name in DESCRIPTIONS.items() if answer.get(name)}
        if answer.get("ExpiresString"):
            headers["expires"] = answer["ExpiresString"]
        meta = {name.lower(): value for name, value in answer.get("Metadata", {}).items()}
        return Found(key, bare(answer["ETag"]), answer["ContentLength"], answer["LastModified"], headers, meta,
                     answer.get("VersionId"))

    def read(self, bucket: str, key: str, etag: str, first: int, size: int,
             version: str | None = None) -> Iterator[bytes]:
        """Bytes of an object, if it is still the one with this ETag; asks before it returns."""
        if size == 0:
            return iter(())
        with self._errors():
            answer = self._s3.get_object(Bucket=bucket, Key=key, IfMatch=etag,
                                         Range="bytes=%d-%d" % (first, first + size - 1),
                                         **_version(version))
        return answer["Body"].iter_chunks(CHUNK)

    def write(self, bucket: str, key: str, body: IO[bytes] | bytes, headers: dict[str, str],
              meta: dict[str, str]) -> None:
        with self._errors():
            self._s3.put_object(Bucket=bucket, Key=key, Body=body, **self._facts(headers, meta))

    def copy(self, source: Source, bucket: str, key: str, headers: dict[str, str],
             meta: dict[str, str]) -> None:
        with self._errors():
            self._s3.copy_object(
                Bucket=bucket, Key=key, CopySource=source.name, CopySourceIfMatch=source.etag,
                MetadataDirective="REPLACE", **self._facts(headers, meta))

    def delete(self, bucket: str, key: str, version: str | None = None) -> tuple[str | None, bool]:
        """Deletes an object; gives the version that is gone or new, and whether that only marks it as deleted."""
        with self._errors():
            answer = self._s3.delete_object(Bucket=bucket, Key=key, **_version(version))
        return answer.get("VersionId"), bool(answer.get("DeleteMarker", False))

    # Multipart uploads.

    def create_upload(self, bucket: str, key: str, headers: dict[str, str], meta: dict[str, str]) -> str:
        with self._errors():
            return self._s3.create_multipart_upload(Bucket=bucket, Key=key, **self._facts(headers, meta))["UploadId"]

    def write_part(self, bucket: str, key: str, upload: str, number: int, body: IO[bytes]) -> str:
        with self._errors():
            return bare(self._s3.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=number,
                                             Body=body)["ETag"])

    def copy_part(self, source: Source, first: int, size: int, bucket: str, key: str, upload: str,
                  number: int) -> str:
        with self._errors():
            answer = self._s3.upload_part_copy(
                Bucket=bucket, Key=key, UploadId=upload, PartNumber=number,
                CopySource=source.name, CopySourceIfMatch=source.etag,
                CopySourceRange="bytes=%d-%d" % (first, first + size - 1))
        return bare(answer["CopyPartResult"]["ETag"])

    def complete_upload(self, bucket: str, key: str, upload: str, parts: list[tuple[int, str]]) -> None:
        listed = [{"PartNumber": number, "ETag": '"%s"' % etag} for number, etag in parts]
        with self._errors():
            self._s3.complete_multipart_upload(Bucket=bucket, Key=key, UploadId=upload,
                                               MultipartUpload={"Parts": listed})

    def abort_upload(self, bucket: str, key: str, upload: str) -> None:
        with self._errors():
            self._s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload)

    @staticmethod
    def _facts(headers: dict[str, str], meta: dict[str, str]) -> dict[str, Any]:
        facts = {DESCRIPTIONS[name]: value for name, value in headers.items() if name in DESCRIPTIONS}
        return {**facts, "Metadata": meta}
