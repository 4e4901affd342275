internal import Core

/// Requests to the security token services of AWS and Volcengine, and whatever speaks like them.
package enum STSRequests {
  /// Returns the body of an AssumeRoleWithWebIdentity, a form.
  ///
  /// It is the one request of STS that needs no signature: the token says who asks.
  ///
  /// - Parameters:
  ///   - arn: the role.
  ///   - sessionName: what the session is called in the account's logs.
  ///   - token: the token; it goes into the body, because URLs are logged.
  /// - Returns: the body.
  package static func assumeRole(arn: String, sessionName: String, token: String) -> [UInt8] {
    form([
      ("Action", "AssumeRoleWithWebIdentity"),
      ("Version", "2011-06-15"),
      ("RoleArn", arn),
      ("RoleSessionName", sessionName),
      ("WebIdentityToken", token),
    ])
  }

  /// The query of an AssumeRoleWithOIDC, Volcengine's word for the same.
  package static let assumeRoleWithOIDCQuery = "?Action=AssumeRoleWithOIDC&Version=2018-01-01"

  /// Returns the body of an AssumeRoleWithOIDC, a form.
  ///
  /// Source: TOS's SDK for Python (2.9.3) and Volcengine's SDK for Go, which ask in the same words.
  ///
  /// - Parameters:
  ///   - trn: the role.
  ///   - sessionName: what the session is called in the account's logs.
  ///   - token: the token; it goes into the body, because URLs are logged.
  ///   - policy: what narrows the role's rights, as JSON.
  /// - Returns: the body.
  package static func assumeRoleWithOIDC(
    trn: String,
    sessionName: String,
    token: String,
    policy: String?
  ) -> [UInt8] {
    form(
      [
        ("RoleTrn", trn),
        ("OIDCToken", token),
        ("RoleSessionName", sessionName),
        // Seconds; what the vendor's SDKs ask for.
        ("DurationSeconds", "3600"),
      ] + (policy.map { [("Policy", $0)] } ?? [])
    )
  }

  private static func form(_ fields: [(name: String, value: String)]) -> [UInt8] {
    Array(
      fields.map { "\($0.name)=\(PercentEncoding.query($0.value))" }.joined(separator: "&").utf8
    )
  }
}

/// Answers of AWS STS.
package enum STSAnswers {
  /// Reads the answer to an AssumeRoleWithWebIdentity.
  ///
  /// Source: AWS STS API Reference, "AssumeRoleWithWebIdentity" and "Common Error Types".
  ///
  /// - Throws: `STSError` with what STS says, or with what is wrong with its answer.
  package static func credentials(_ answer: WireAnswer) throws(STSError) -> Credentials {
    guard answer.isSuccess else { throw refusal(answer) }
    // Response > Result > Credentials > AccessKeyId.
    let document = try? XMLDocument(answer.body, outerCount: 1)
    guard let record = document?.records.first(where: { $0.name == "Credentials" })?.fields else {
      throw STSError("the answer of STS can't be read")
    }
    guard let accessKey = usable(record.text("AccessKeyId")),
      let secretKey = usable(record.text("SecretAccessKey")),
      let token = usable(record.text("SessionToken"))
    else { throw STSError("the answer of STS has no whole credentials in it") }
    guard let expiry = record["Expiration"].flatMap(WireDate.iso8601) else {
      throw STSError("the answer of STS doesn't say when the credentials end")
    }
    return Credentials(
      accessKey: accessKey,
      secretKey: secretKey,
      sessionToken: token,
      expiry: expiry
    )
  }

  private static func refusal(_ answer: WireAnswer) -> STSError {
    let document = try? XMLDocument(answer.body)
    let record = document?.records.first { $0.name == "Error" }?.fields
    let code = record?.text("Code").flatMap { $0.shown(64) }
    let message = record?.text("Message").flatMap { $0.clause(200) }
    let facts = [code, message].compactMap { $0 }.joined(separator: ": ")
    return STSError("STS refuses (HTTP \(answer.status))" + (facts.isEmpty ? "" : ": \(facts)"))
  }

  /// Returns a text that can go into a header.
  private static func usable(_ text: String?) -> String? {
    guard let text, !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      return nil
    }
    return text
  }
}

/// Why STS gave no credentials.
package struct STSError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One sentence for a person.
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}
