package import Dipper

extension BucketOptions {
  /// Creates the options that a command line states.
  package init(_ invocation: Invocation) {
    self.init()
    endpoint = invocation.text(.endpoint)
    region = invocation.text(.region)
    usesPathStyle = invocation.has(.pathStyle) ? true : nil
    usesOwnDomain = invocation.has(.customDomain)
    profile = invocation.text(.profile)
    rateMax = invocation.number(.limitRate)
    isAnonymous = invocation.has(.anonymous)
    acl = invocation.text(.acl)
    switch invocation.text(.sse) {
    case "kms", "aws:kms": encryption = .keyService(keyID: invocation.text(.sseKMSKeyID))
    case .some: encryption = .storeKeys
    case nil: break
    }
    checksum = invocation.text(.checksum).flatMap(UploadChecksum.init(rawValue:)) ?? checksum
  }
}
