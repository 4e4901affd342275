"""The errors of TOS: status, code, and EC, the finer code whose first group names a family."""

from __future__ import annotations

# Code -> status, EC, what it means. An EC that ends in zeros is of the right family, but no document
# and no SDK tells its number.
KINDS: dict[str, tuple[int, str, str]] = {
    "AccessDenied": (403, "0003-00000000", "access to the resource is denied"),
    "AuthorizationHeaderMalformed": (400, "0002-00000000", "the authorization can't be read"),
    "BadDigest": (400, "0005-00000000", "the body is not what Content-MD5 says"),
    "BucketAlreadyOwnedByYou": (409, "0006-00000000", "the bucket is there already"),
    "BucketNotEmpty": (409, "0006-00000000", "the bucket has objects"),
    "CannotDelete": (409, "0026-00000013", "the directory is not empty"),
    "ContentLengthMustBeZero": (400, "0026-00000000", "a directory has no body"),
    "ContentSHA256Mismatch": (400, "0002-00000000", "the body is not what x-tos-content-sha256 says"),
    "DuplicateObject": (409, "0017-00000004", "the object is there already"),
    "EntityTooSmall": (400, "0019-00000000", "a part other than the last is smaller than 5 MiB"),
    "ExpiredToken": (403, "0002-00000000", "the security token has expired"),
    "InternalError": (500, "0001-00000000", "the gateway failed"),
    "InvalidAccessKeyId": (403, "0002-00000000", "there is no such access key"),
    "InvalidArgument": (400, "0005-00000000", "an argument is wrong"),
    "InvalidBucketName": (400, "0006-00000000", "this is no name of a bucket"),
    "InvalidDelimiter": (400, "0026-00000000", "a hierarchical bucket knows the delimiter / alone"),
    "InvalidDigest": (400, "0005-00000000", "Content-MD5 is no digest"),
    "InvalidKey": (400, "0017-00000000", "this is no key"),
    "InvalidObjectState": (403, "0020-00000000", "the object is archived and not restored"),
    "InvalidPart": (400, "0019-00000000", "a part is not there or has another ETag"),
    "InvalidPartNumber": (400, "0019-00000000", "part numbers go from 1 to 10000"),
    "InvalidPathAccess": (403, "0003-00000000", "name the bucket in the host, not in the path"),
    "InvalidSecurityToken": (403, "0002-00000000", "the security token is not that of the key"),
    "InvalidSourceOrDestinationResourceType": (
        409, "0026-00000021", "one is a directory and the other is none"),
    "InvalidVersionId": (400, "0017-00000000", "there is no such version"),
    "KeyTooLong": (400, "0017-00000000", "a key has at most 1024 bytes"),
    "MalformedBody": (400, "0005-00000000", "the body can't be read"),
    "MethodNotAllowed": (405, "0005-00000000", "this is not for such a bucket or object"),
    "MissingContentLength": (411, "0005-00000000", "Content-Length is missing"),
    "NoSuchBucket": (404, "0006-00000001", "there is no such bucket"),
    "NoSuchKey": (404, "0017-00000003", "there is no such object"),
    "NoSuchUpload": (404, "0019-00000000", "there is no such multipart upload"),
    "NotAppendable": (409, "0017-00000209", "the object was not made by appending"),
    "NotImplemented": (501, "0001-00000000", "the gateway doesn't know this operation"),
    "NotModified": (304, "", "not modified"),
    "OffsetNotMatched": (409, "0017-00000208", "the offset is not the end of the object"),
    "PreconditionFailed": (412, "0017-00000000", "a condition of the request doesn't hold"),
    "RequestTimeTooSkewed": (403, "0002-00000000", "the clocks differ by more than 15 minutes"),
    "Requested Range Not Satisfiable": (416, "0017-00000000", "the range lies behind the object"),
    "RestoreAlreadyInProgress": (409, "0020-00000000", "the object is being restored"),
    "ServiceUnavailable": (503, "0001-00000000", "the server behind the gateway failed"),
    "SignatureDoesNotMatch": (403, "0002-00000201", "the signature is not that of the request"),
}


class TosError(Exception):
    """An answer that is no success."""

    def __init__(self, code: str, message: str | None = None, *, status: int | None = None,
                 ec: str | None = None) -> None:
        known_status, known_ec, meaning = KINDS[code]
        super().__init__(message or meaning)
        self.code = code
        self.status = status or known_status
        self.ec = known_ec if ec is None else ec
        self.message = message or meaning
