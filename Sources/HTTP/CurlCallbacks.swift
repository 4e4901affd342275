internal import CCurl
internal import Glibc

// The functions that libcurl calls, on the driver thread, inside `curl_multi_perform` (or while a
// handle is removed). Their context is a `CurlTransfer`, passed unretained: the driver's table of
// running transfers keeps it alive from before its easy handle is added to the multi handle until
// after the handle was removed and reset.

/// Takes bytes of an answer's body.
let receiveBody: ccurl_receive = { bytes, size, count, context in
  guard let context, let bytes else { return 0 }
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
  guard !buffer.isEmpty else { return 0 }
  // Taking fewer bytes than there are ends the transfer.
  return transfer.receive(body: buffer) ? buffer.count : 0
}

/// Takes a line of an answer's head.
let receiveHeader: ccurl_receive = { bytes, size, count, context in
  guard let context, let bytes else { return 0 }
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
  return transfer.receive(headerLine: buffer.assumingMemoryBound(to: UInt8.self))
    ? buffer.count : 0
}

/// Fills libcurl's buffer with bytes of the request's body.
let sendBody: ccurl_send = { bytes, size, count, context in
  guard let context, let bytes else { return Int(CURL_READFUNC_ABORT) }
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
  return transfer.send(into: buffer) ?? Int(CURL_READFUNC_ABORT)
}

/// Looks at the connection before the request goes out on it.
let connected: ccurl_connected = { context, serverAddress, _, serverPort, ownPort in
  guard let context, let serverAddress else { return CURL_PREREQFUNC_ABORT }
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  let connection = ConnectionSockets.Connection(
    serverAddress: String(cString: serverAddress),
    serverPort: serverPort,
    ownPort: ownPort
  )
  return transfer.connected(connection) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

/// Makes a socket that programs started by this one don't inherit, and notes it.
let openSocket: ccurl_open_socket = { context, _, address in
  guard let context, let address = address?.pointee else { return CURL_SOCKET_BAD }
  let type = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
  let socket = Glibc.socket(address.family, type, address.protocol)
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  if socket != CURL_SOCKET_BAD { transfer.opened(socket) }
  return socket
}

/// Goes back in the request's body.
let seekBody: ccurl_seek = { context, offset, origin in
  guard let context, origin == 0 else { return CURL_SEEKFUNC_CANTSEEK }  // 0 is SEEK_SET.
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  return transfer.rewind(to: Int(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}
