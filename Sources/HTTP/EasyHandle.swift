internal import CCurl
internal import Core
internal import Support

/// A libcurl easy handle: the settings of one transfer at a time; used again after `reset`.
///
/// Only the driver thread touches it.
final class EasyHandle {
  let pointer: UnsafeMutableRawPointer
  /// Where libcurl writes its reason for a failure.
  private let reason: UnsafeMutableBufferPointer<CChar>
  private var headerList: UnsafeMutablePointer<curl_slist>?
  /// The first setting that libcurl refused.
  private var refusal = CURLE_OK

  /// Creates a handle.
  ///
  /// - Throws: `.unreachable` if there is no memory for it.
  init() throws(HTTPError) {
    guard let pointer = curl_easy_init() else {
      throw HTTPError(.unreachable, "can't set up a libcurl transfer")
    }
    self.pointer = pointer
    reason = .allocate(capacity: Int(CURL_ERROR_SIZE))
    reason.initialize(repeating: 0)
  }

  /// Sets up the transfer of `request`, which starts while `runningCount` others run; `context` is
  /// what the callbacks get.
  func prepare(
    _ request: HTTPRequest,
    _ configuration: CurlClient.Configuration,
    runningCount: Int,
    context: UnsafeMutableRawPointer
  ) throws(HTTPError) {
    refusal = CURLE_OK
    reason.update(repeating: 0)
    check(ccurl_set_pointer(pointer, CURLOPT_ERRORBUFFER, reason.baseAddress))
    var callbacks = ccurl_callbacks(
      body: receiveBody,
      header: receiveHeader,
      send: sendBody,
      seek: seekBody,
      open_socket: openSocket,
      connected: connected
    )
    check(ccurl_set_callbacks(pointer, &callbacks, context))
    set(CURLOPT_URL, request.url)
    setProtocol()
    setSecurity(configuration)
    setConnection(configuration)
    // An empty name switches off also what the environment says.
    if !request.usesProxy { set(CURLOPT_PROXY, "") }
    setMethod(request)
    setFields(request, userAgent: configuration.userAgent)
    setBufferSizes(request, configuration, runningCount: runningCount)
    guard refusal == CURLE_OK else {
      throw HTTPError(.invalid, "libcurl: \(String(cString: curl_easy_strerror(refusal)))")
    }
  }

  /// Forgets the transfer; live connections are the multi handle's and stay.
  func reset() {
    curl_easy_reset(pointer)
    curl_slist_free_all(headerList)
    headerList = nil
  }

  /// Limits the transfer, also one that runs, to so many bytes per second in each direction.
  func limitRate(to rate: Int) {
    ccurl_set_offset(pointer, CURLOPT_MAX_RECV_SPEED_LARGE, curl_off_t(rate))
    ccurl_set_offset(pointer, CURLOPT_MAX_SEND_SPEED_LARGE, curl_off_t(rate))
  }

  /// What to say of a failure: libcurl's words, unless they would help nobody.
  func reason(for code: CURLcode) -> String {
    let own = String(
      decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
      as: UTF8.self
    )
    if HTTPError.isWithoutTLS(code, own) {
      return "what answers there doesn't speak TLS; try http:// instead of https://"
    }
    return own.isEmpty ? String(cString: curl_easy_strerror(code)) : own
  }

  /// How much of the request's body went to the kernel.
  var sentSize: Int {
    var size: curl_off_t = 0
    ccurl_get_offset(pointer, CURLINFO_SIZE_UPLOAD_T, &size)
    return Int(size)
  }

  /// True if the transfer goes over a connection that another one has used before.
  var isConnectionReused: Bool {
    var count = 1
    ccurl_get_long(pointer, CURLINFO_NUM_CONNECTS, &count)
    return count == 0
  }

  /// True if the connection stood and the request was about to go out.
  var wasSent: Bool {
    var microseconds: curl_off_t = 0
    ccurl_get_offset(pointer, CURLINFO_PRETRANSFER_TIME_T, &microseconds)
    return microseconds > 0
  }

  deinit {
    curl_easy_cleanup(pointer)
    curl_slist_free_all(headerList)
    reason.deallocate()
  }
}

extension EasyHandle {
  private func setProtocol() {
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    // Keys may contain `..` and `//`.
    set(CURLOPT_PATH_AS_IS, 1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    // A body is passed on as it was stored, whatever its Content-Encoding.
    set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
  }

  private func setSecurity(_ configuration: CurlClient.Configuration) {
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    guard let file = configuration.certificateAuthorityFile else { return }
    set(CURLOPT_CAINFO, file)
    // The file replaces the system's authorities: the directory of them is not looked at either.
    check(ccurl_set_string(pointer, CURLOPT_CAPATH, nil))
  }

  private func setConnection(_ configuration: CurlClient.Configuration) {
    set(CURLOPT_NOSIGNAL, 1)
    // A transfer that is cancelled while its name is being resolved does not wait for the resolver.
    set(CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.wholeMilliseconds)
    set(CURLOPT_TCP_NODELAY, 1)
    set(CURLOPT_TCP_KEEPALIVE, 1)
  }

  private func setMethod(_ request: HTTPRequest) {
    switch request.method {
    case "HEAD":
      set(CURLOPT_NOBODY, 1)
    case "GET":
      set(CURLOPT_HTTPGET, 1)
    case "PUT", "POST":
      setUpload(request)
    default:
      if request.body.count > 0 { setUpload(request) }
      set(CURLOPT_CUSTOMREQUEST, request.method)
    }
  }

  /// The method of libcurl's that sends a body with its exact length and no header of its own.
  private func setUpload(_ request: HTTPRequest) {
    set(CURLOPT_UPLOAD, 1)
    check(
      ccurl_set_offset(pointer, CURLOPT_INFILESIZE_LARGE, curl_off_t(request.body.count))
    )
    set(CURLOPT_CUSTOMREQUEST, request.method)
  }

  private func setFields(_ request: HTTPRequest, userAgent: String) {
    set(CURLOPT_USERAGENT, userAgent)
    // Without this libcurl waits a second for a `100 Continue` that many stores never send.
    append("Expect:")
    for field in request.fields.fields {
      // libcurl removes a field that is written without a value, unless it ends in a semicolon.
      append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }
    check(ccurl_set_pointer(pointer, CURLOPT_HTTPHEADER, headerList))
  }

  private func append(_ line: String) {
    guard let longer = curl_slist_append(headerList, line) else {
      refusal = CURLE_OUT_OF_MEMORY
      return
    }
    headerList = longer
  }

  private func setBufferSizes(
    _ request: HTTPRequest,
    _ configuration: CurlClient.Configuration,
    runningCount: Int
  ) {
    let isSmall = request.method != "GET"
    let size = TransferMemory.bufferSize(
      expectedSize: isSmall ? 0 : request.expectedBodySize,
      runningCount: runningCount
    )
    // libcurl looks at the rate only after it has filled several buffers; 16 KiB is its own size.
    set(CURLOPT_BUFFERSIZE, configuration.rateMax == nil ? size : min(size, 16 * 1024))
    // libcurl's own size is 64 KiB, its least 16.
    let isSmallUpload = request.body.count <= 64 * 1024
    set(CURLOPT_UPLOAD_BUFFERSIZE, isSmallUpload ? 64 * 1024 : 128 * 1024)
  }

  private func set(_ option: CURLoption, _ value: Int) {
    check(ccurl_set_long(pointer, option, value))
  }

  private func set(_ option: CURLoption, _ value: String) {
    check(ccurl_set_string(pointer, option, value))
  }

  private func check(_ code: CURLcode) {
    if refusal == CURLE_OK { refusal = code }
  }
}

extension Duration {
  /// Milliseconds rounded up, so that nothing is looked at before its time; 1 at least.
  var wholeMilliseconds: Int {
    let (quotient, remainder) = wholeNanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return max(1, Int(quotient) + (remainder > 0 ? 1 : 0))
  }
}
