import Core
import Glibc
import Support
import Testing

@testable import FuseBridge

extension MountTests {
  @Suite struct FailureTests {
    @Test func everyCodeArrivesAsItsErrno() throws {
      try withMount { mounted in
        for code in FileError.Code.allCases where code != .interrupted {
          var status = stat()
          let number = errnoOf { stat(mounted.path("fail-\(code.rawValue)"), &status) }
          #expect(number == code.errnoNumber, "\(code)")
        }
      }
    }

    @Test func droppedReplyIsAnInputOutputError() throws {
      try withMount { mounted in
        var status = stat()
        #expect(errnoOf { stat(mounted.path("drop-it"), &status) } == EIO)
      }
    }

    @Test func attributeValueFitsOrIsOutOfRange() throws {
      let calls = try ExtendedAttributeCalls()
      let files = MemoryFiles()
      files.add("file", [])
      try withMount(files) { mounted in
        let path = mounted.path("file")
        var value = [UInt8](repeating: 0, count: 1000)
        #expect(calls.get(path, "user.long", nil, 0) == 1000)
        #expect(errnoOf { Int32(calls.get(path, "user.long", &value, 999)) } == ERANGE)
        #expect(calls.get(path, "user.long", &value, 1000) == 1000)
        #expect(value == [UInt8](repeating: 7, count: 1000))
        #expect(errnoOf { Int32(calls.get(path, "user.none", &value, 1000)) } == ENODATA)
      }
    }

    @Test func attributeNamesFitOrAreOutOfRange() throws {
      let calls = try ExtendedAttributeCalls()
      let files = MemoryFiles()
      files.add("file", [])
      try withMount(files) { mounted in
        let path = mounted.path("file")
        var names = [CChar](repeating: 0, count: 10)
        #expect(calls.list(path, nil, 0) == 10)
        #expect(errnoOf { Int32(calls.list(path, &names, 9)) } == ERANGE)
        #expect(calls.list(path, &names, 10) == 10)
        #expect(names == Array("user.long\0".utf8).map { CChar($0) })
      }
    }
  }
}

@Suite struct ErrnoMappingTests {
  @Test func noTwoCodesShareAnErrno() {
    let numbers = Set(FileError.Code.allCases.map(\.errnoNumber))
    #expect(numbers.count == FileError.Code.allCases.count)
    let names = Set(FileError.Code.allCases.map(\.errnoName))
    #expect(names.count == FileError.Code.allCases.count)
  }
}
