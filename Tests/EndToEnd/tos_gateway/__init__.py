"""A gateway that speaks TOS's native protocol in front of an S3 server.

It is the other side of the tests of `tos://`: the real service can't be reached from a test machine. The
bytes of objects lie in a real S3 server under the keys that TOS clients use, so that an S3 client behind
the gateway sees what TOS clients wrote; what S3 has no place for lies in the gateway's memory. Facts of
the protocol come from the vendor's API reference and from what the vendor's SDKs send, parse and assert
in their own tests.

    python -m tos_gateway --backend http://127.0.0.1:9000 --access-key A --secret-key S
"""
