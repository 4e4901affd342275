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
  }
}
