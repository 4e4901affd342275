"""Runs a gateway until it is ended."""

from __future__ import annotations

import argparse
import logging

from .access import AccessKey, KeyRing
from .backend import Backend
from .server import GatewayServer
from .service import Service


def main() -> None:
    parser = argparse.ArgumentParser("tos_gateway", description="TOS's native protocol in front of an S3 server.")
    parser.add_argument("--backend", required=True, metavar="URL", help="the S3 server")
    parser.add_argument("--port", type=int, default=0, help="where to listen on loopback; 0 means any")
    parser.add_argument("--region", default="cn-beijing")
    parser.add_argument("--access-key", required=True, help="for clients, and for the S3 server")
    parser.add_argument("--secret-key", required=True)
    parser.add_argument("--verbose", action="store_true", help="a line for every request")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO if options.verbose else logging.WARNING,
                        format="%(asctime)s %(message)s")
    keys = KeyRing(options.region)
    keys.put(options.access_key, AccessKey(options.secret_key))
    backend = Backend(options.backend, options.access_key, options.secret_key)
    server = GatewayServer(Service(backend, options.region, keys), options.port)
    print(server.url, flush=True)
    server.serve_forever(poll_interval=0.05)


main()
