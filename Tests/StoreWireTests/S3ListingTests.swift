import Core
import StoreWire
import Testing

@Suite struct S3ListingTests {
  private func read(
    _ content: String,
    prefix: String = "",
    token: String? = nil
  ) throws(StoreError) -> ListAnswer {
    let list = ListRequest(
      prefix: ObjectKey(prefix),
      isDelimited: true,
      continuationToken: token
    )
    let body =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      + "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      + content + "</ListBucketResult>"
    return try S3Answers.listing(
      WireAnswer(status: 200, body: Array(body.utf8)),
      to: S3Requests.listObjects(list),
      list: list
    )
  }

  private func object(_ key: String, size: String = "<Size>1</Size>") -> String {
    "<Contents><Key>\(key)</Key>\(size)</Contents>"
  }

  private func isInvalid(_ body: () throws -> ListAnswer) -> Bool {
    do {
      _ = try body()
      return false
    } catch {
      return (error as? StoreError)?.kind == .invalidAnswer
    }
  }

  private let encoded = "<EncodingType>url</EncodingType>"

  @Test func aListingThatIsAnsweredAsAnObjectThatIsMissingIsNotEmpty() {
    let list = ListRequest(prefix: ObjectKey("p/"), isDelimited: true)
    func refused(_ code: String) -> StoreError? {
      do throws(StoreError) {
        let body =
          "<Error><Code>\(code)</Code><Message>no</Message><RequestId>R</RequestId></Error>"
        _ = try S3Answers.listing(
          WireAnswer(status: 404, body: Array(body.utf8)),
          to: S3Requests.listObjects(list),
          list: list
        )
        return nil
      } catch {
        return error
      }
    }
    let error = refused("NoSuchKey")
    #expect(error?.kind == .invalidAnswer)
    #expect(error?.code == "NoSuchKey" && error?.requestID == "R")
    #expect(error?.message == "a listing was answered as if it named an object: no")
    #expect(refused("NoSuchBucket")?.kind == .noSuchBucket)
  }

  @Test func aPageIsReadWhole() throws {
    let answer = try read(
      """
      <Name>b</Name><Prefix>dir%2F</Prefix><KeyCount>3</KeyCount><MaxKeys>1000</MaxKeys>
        <Delimiter>%2F</Delimiter><IsTruncated>true</IsTruncated>
        <NextContinuationToken>t+/=</NextContinuationToken>
        <Contents>
          <Key>dir%2Fa+b%2Bc%20d</Key><LastModified>2026-11-30T08:30:00.250Z</LastModified>
          <ETag>&quot;e-1&quot;</ETag><Size>5368709120</Size><StorageClass>GLACIER</StorageClass>
          <Owner><ID>x</ID><DisplayName>y</DisplayName></Owner>
        </Contents>
        <Contents><Key>dir/%FF%0A</Key><LastModified>2026-11-30T08:30:00Z</LastModified>
          <ETag>plain</ETag><Size>0</Size></Contents>
        <CommonPrefixes><Prefix>dir/sub%01/</Prefix></CommonPrefixes>
        <EncodingType>url</EncodingType>
      """,
      prefix: "dir/"
    )
    let page = answer.page
    #expect(answer.skipped == [])
    #expect(
      page.objects.map(\.key) == [
        ObjectKey("dir/a b+c d"), ObjectKey(Array("dir/".utf8) + [0xFF, 0x0A]),
      ]
    )
    let first = try #require(page.objects.first)
    #expect(first.size == 5_368_709_120)
    #expect(first.version.etag == ETag("e-1"))
    #expect(first.version.lastModified.iso8601 == "2026-11-30T08:30:00Z")
    #expect(first.version.lastModified.nanoseconds % 1_000_000_000 == 250_000_000)
    #expect(first.storageClass == "GLACIER")
    #expect(!first.isArchived, "a listing doesn't know")
    #expect(first.userMetadata == nil)
    #expect(page.objects.last?.version.etag == ETag("plain"))
    #expect(page.commonPrefixes == [ObjectKey(Array("dir/sub".utf8) + [0x01, 0x2F])])
    #expect(page.nextToken == "t+/=")
  }

  @Test func keysAreTakenRawIfTheStoreIgnoredTheEncoding() throws {
    let answer = try read(object("a+b%20c &amp; &lt;é"))
    #expect(answer.page.objects.map(\.key) == [ObjectKey("a+b%20c & <é")])
  }

  @Test func aKeyThatCanNotBeDecodedIsTakenAsItStands() throws {
    let answer = try read(encoded + object("100%") + object("b%20c"))
    #expect(answer.page.objects.map(\.key) == [ObjectKey("100%"), ObjectKey("b c")])
  }

  @Test func oneOddEntryDoesNotBreakItsNeighbours() throws {
    let answer = try read(
      object("p/a") + object("q/outside") + object("p/negative", size: "<Size>-1</Size>")
        + object("p/huge", size: "<Size>99999999999999999999</Size>")
        + object("p/none", size: "") + object("p/words", size: "<Size>many</Size>")
        + "<Contents><Size>1</Size></Contents>" + object("")
        + object("p/line\u{85}feed") + object("p/z", size: "<Size> 7 </Size>")
        + "<CommonPrefixes><Prefix>p/noslash</Prefix></CommonPrefixes>"
        + "<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>"
        + "<CommonPrefixes/><CommonPrefixes><Prefix>x/</Prefix></CommonPrefixes>"
        + "<CommonPrefixes><Prefix>p/good/</Prefix></CommonPrefixes>",
      prefix: "p/"
    )
    #expect(
      answer.page.objects.map(\.key) == [
        ObjectKey("p/a"), ObjectKey("p/line\u{85}feed"), ObjectKey("p/z"),
      ]
    )
    #expect(answer.page.commonPrefixes == [ObjectKey("p/good/")])
    #expect(answer.skipped.count == 10)
    #expect(answer.skipped.allSatisfy { !$0.contains("\n") })
  }

  @Test(arguments: [1025, 70_000])
  func aKeyThatIsLongerThanAKeyCanBeHidesOnlyItself(count: Int) throws {
    let long = String(repeating: "k", count: count - 2)
    let answer = try read(
      object("p/a") + object("p/" + long) + object("p/b")
        + "<CommonPrefixes><Prefix>p/\(long)/</Prefix></CommonPrefixes>"
        + "<CommonPrefixes><Prefix>p/c/</Prefix></CommonPrefixes>",
      prefix: "p/"
    )
    #expect(answer.page.objects.map(\.key) == [ObjectKey("p/a"), ObjectKey("p/b")])
    #expect(answer.page.commonPrefixes == [ObjectKey("p/c/")])
    #expect(answer.skipped.count == 2)
    #expect(answer.skipped.allSatisfy { $0.contains("p/kkkk") && $0.utf8.count < 300 })
  }

  @Test func aKeyOfTheGreatestLengthIsShownAlsoIfItsSpellingIsLonger() throws {
    let key = [UInt8](repeating: 0xFF, count: ObjectKey.byteCountMax)
    let spelled = String(repeating: "%FF", count: ObjectKey.byteCountMax)
    #expect(try read(encoded + object(spelled)).page.objects.map(\.key) == [ObjectKey(key)])
  }

  @Test func controlCharactersComeEncodedAndBreakAPageIfTheyDoNot() throws {
    let answer = try read(encoded + object("a%01%0A%1B%00") + object("b"))
    #expect(
      answer.page.objects.map(\.key.bytes) == [Array("a\u{1}\n\u{1B}\u{0}".utf8), Array("b".utf8)]
    )
    #expect(isInvalid { try read(object("a\u{1}")) })
    #expect(isInvalid { try read(object("a&#1;")) })
  }

  @Test func aListingOfSomethingElseIsInvalid() {
    #expect(
      isInvalid {
        try read(object("q/a") + object("q/b"), prefix: "p/")
      }
    )
    #expect(
      isInvalid {
        try read("<CommonPrefixes><Prefix>q/</Prefix></CommonPrefixes>", prefix: "p/")
      }
    )
  }

  @Test func aMarkerOfTheDirectoryItselfIsAnObject() throws {
    let answer = try read(object("p/", size: "<Size>0</Size>"), prefix: "p/")
    #expect(answer.page.objects.map(\.key) == [ObjectKey("p/")])
  }

  @Test func aListingThatLeadsNowhereIsInvalid() throws {
    let more = "<IsTruncated>true</IsTruncated>"
    let token = "<NextContinuationToken>t</NextContinuationToken>"
    #expect(isInvalid { try read(more) })
    #expect(
      isInvalid {
        try read(more + "<NextContinuationToken/>")
      }
    )
    #expect(isInvalid { try read(more + token, token: "t") })
    #expect(
      isInvalid {
        try read("<IsTruncated>maybe</IsTruncated>")
      }
    )
    #expect(try read(more + token, token: "s").page.nextToken == "t")
    #expect(try read("<IsTruncated>false</IsTruncated>" + token).page.nextToken == nil)
    #expect(try read("").page == ListPage(objects: [], commonPrefixes: [], nextToken: nil))
    #expect(try read(token).page.nextToken == "t")
  }

  @Test func aTagThatCouldNotBeSentBackIsNone() throws {
    let answer = try read(
      "<Contents><Key>k</Key><Size>1</Size><ETag>a&#13;&#10;X-Evil: 1</ETag></Contents>"
    )
    #expect(answer.page.objects.first?.version.etag == nil)
  }

  @Test func whatIsNoListingIsInvalid() {
    for body in [
      "", "{}", "<html><body>Sign in</body></html>", "<ListBucketResult>",
      "<ListBucketResult><Contents><Key>a</Key>", "<ListBucketResult/><x/>",
      "<ListAllMyBucketsResult/>",
    ] {
      let list = ListRequest(prefix: ObjectKey(""), isDelimited: false)
      #expect(
        isInvalid {
          try S3Answers.listing(
            WireAnswer(status: 200, body: Array(body.utf8)),
            to: S3Requests.listObjects(list),
            list: list
          )
        },
        "\(body)"
      )
    }
  }

  @Test func aThousandObjectsAreRead() throws {
    let answer = try read(
      encoded + (0..<1000).map { object("key-\($0)") }.joined()
    )
    #expect(answer.page.objects.count == 1000)
    #expect(answer.page.objects.last?.key == ObjectKey("key-999"))
  }
}
