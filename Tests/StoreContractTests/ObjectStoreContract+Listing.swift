import Core
import Testing

extension ObjectStoreContract {
  static let listing: [Claim] = [
    Claim("keys are listed in byte order") { setting in
      let names = ["a!", "a-b", "a-c/d", "a/b", "a/b-c", "a/c", "a0", "b", "B", "~", "\u{e9}"]
      for name in names { try await setting.put(name) }
      let (objects, _, _) = try await setting.list()
      let listed = setting.names(objects)
      #expect(setting.sorted(listed) == setting.sorted(names))
      if !setting.has(.listsInTreeOrder) { #expect(listed == setting.sorted(names)) }
    },
    Claim("pages have at most what is asked for, and join to the whole") { setting in
      let names = ["a-b", "a/1", "a/2", "b", "c/d/1", "c/d/2", "c/e", "d"]
      for name in names { try await setting.put(name) }
      for countMax in [1, 2, 3, 7, 8, 9] {
        let (objects, _, pageCount) = try await setting.list(countMax: countMax)
        #expect(setting.sorted(setting.names(objects)) == setting.sorted(names), "\(countMax)")
        if !setting.has(.listsDirectories) { #expect(pageCount <= names.count / countMax + 1) }
      }
    },
    Claim("a delimiter groups keys, each group once, over pages too") { setting in
      for name in ["a-b", "a/1", "a/2", "b", "c/d/1", "c/d/2", "c/e", "d"] {
        try await setting.put(name)
      }
      for countMax in [1, 2, 3, 5, 1000] {
        let (objects, prefixes, _) = try await setting.list(isDelimited: true, countMax: countMax)
        #expect(setting.sorted(setting.names(objects)) == ["a-b", "b", "d"], "\(countMax)")
        #expect(setting.sorted(setting.names(prefixes)) == ["a/", "c/"], "\(countMax)")
      }
      let (objects, prefixes, _) = try await setting.list("c/", isDelimited: true)
      #expect(setting.names(objects) == ["c/e"])
      #expect(setting.names(prefixes) == ["c/d/"])
    },
    Claim("a prefix need not end at a slash") { setting in
      for name in ["file", "file1", "file2/x", "file/x.txt", "fil", "filf"]
      where name != "file" || !setting.has(.refusesKeyBesideItsPrefix) {
        try await setting.put(name)
      }
      let (objects, prefixes, _) = try await setting.list("file", isDelimited: true)
      let expected = setting.has(.refusesKeyBesideItsPrefix) ? ["file1"] : ["file", "file1"]
      #expect(setting.sorted(setting.names(objects)) == expected)
      #expect(setting.sorted(setting.names(prefixes)) == ["file/", "file2/"])
      let (none, noPrefixes, _) = try await setting.list("file3")
      #expect(none.isEmpty && noPrefixes.isEmpty)
      let (nowhere, _, _) = try await setting.list("no/such/thing")
      #expect(nowhere.isEmpty)
    },
    Claim("a listing starts after a key, whether it is there or not") { setting in
      for name in ["1", "2", "3", "5"] { try await setting.put(name) }
      #expect(setting.names(try await setting.list(startAfter: "2").objects) == ["3", "5"])
      #expect(setting.names(try await setting.list(startAfter: "4").objects) == ["5"])
      #expect(setting.names(try await setting.list(startAfter: "5").objects) == [])
      let (paged, _, _) = try await setting.list(startAfter: "1", countMax: 1)
      #expect(setting.names(paged) == ["2", "3", "5"])
    },
    Claim("a directory's marker is an object, and its own prefix") { setting in
      try await setting.put("dir/", [])
      try await setting.put("dir/x")
      try await setting.put("empty/", [])
      #expect(try await setting.head("dir/").size == 0)
      let own = setting.has(.listsDirectories) ? [] : ["dir/"]
      #expect(setting.names(try await setting.list("dir/").objects) == own + ["dir/x"])
      let (inside, _, _) = try await setting.list("dir/", isDelimited: true)
      #expect(setting.names(inside) == own + ["dir/x"])
      let (above, prefixes, _) = try await setting.list(isDelimited: true)
      #expect(above.isEmpty)
      #expect(setting.names(prefixes) == ["dir/", "empty/"])
      let (all, _, _) = try await setting.list(countMax: 1)
      let markers = setting.has(.listsDirectories) ? [] : ["dir/", "empty/"]
      #expect(setting.sorted(setting.names(all)) == setting.sorted(markers + ["dir/x"]))
      // A directory that isn't empty is not removed where directories are more than markers.
      guard !setting.store.capabilities.hasDirectories else { return }
      try await setting.store.delete(
        setting.key("dir/"),
        ifMatch: nil,
        context: setting.context
      )
      if !setting.has(.keepsDirectories) {
        #expect(await setting.failure { _ = try await setting.head("dir/") } == .notFound)
      }
      #expect(try await setting.head("dir/x").size == 7)
    },
    Claim("a prefix goes with its last key") { setting in
      try await setting.put("a/b/c")
      try await setting.put("a/d")
      try await setting.store.delete(
        setting.key("a/b/c"),
        ifMatch: nil,
        context: setting.context
      )
      if !setting.has(.keepsDirectories) {
        let (objects, prefixes, _) = try await setting.list("a/", isDelimited: true)
        #expect(setting.names(objects) == ["a/d"])
        #expect(prefixes.isEmpty)
      }
      #expect(setting.names(try await setting.list().objects) == ["a/d"])
    },
    Claim("odd keys are stored, found and listed as they are") { setting in
      var names = [
        "two  spaces", " leading", "trailing ", "plus+plus", "percent%20", "100%", "\u{fc}",
        "u\u{308}", "\u{4e2d}\u{6587}", "\u{1f600}", "&<>\"'", "q?a=b&c#d", "~!@$^*()=;:,|[]{}`",
        ".hidden", "...", "a.", "-", "back\\slash", "new\nline",
      ]
      if setting.has(.losesNewlines) { names.removeAll { $0.contains("\n") } }
      if setting.has(.losesBackslashes) { names.removeAll { $0.contains("\\") } }
      for name in names { try await setting.put(name, Array(name.utf8)) }
      for name in names {
        let bytes = try await setting.bytes(name)
        #expect(bytes == Array(name.utf8), "\(name.debugDescription)")
      }
      let listed = setting.names(try await setting.list().objects)
      // Compared as bytes: as strings the composed and the decomposed letter are the same.
      #expect(Set(listed.map { Array($0.utf8) }) == Set(names.map { Array($0.utf8) }))
      #expect(listed.count == names.count)
      for name in names {
        let found = setting.names(try await setting.list(name).objects)
        #expect(found.map { Array($0.utf8) }.contains(Array(name.utf8)), "\(name.debugDescription)")
      }
    },
    Claim("a key and keys below it can both be there") { setting in
      guard !setting.has(.refusesKeyBesideItsPrefix) else { return }
      try await setting.put("x", Array("above".utf8))
      try await setting.put("x/y", Array("below".utf8))
      #expect(try await setting.bytes("x") == Array("above".utf8))
      #expect(try await setting.bytes("x/y") == Array("below".utf8))
      let (objects, prefixes, _) = try await setting.list(isDelimited: true)
      #expect(setting.names(objects) == ["x"])
      #expect(setting.names(prefixes) == ["x/"])
    },
    Claim("2,500 keys come over pages, each once") { setting in
      guard !setting.has(.makesDirectoriesSlowly) else { return }
      let names = (0..<2500).map { number in "key-\(10_000 + number)" }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for start in 0..<8 {
          group.addTask {
            for index in stride(from: start, to: names.count, by: 8) {
              try await setting.put(names[index], [1])
            }
          }
        }
        try await group.waitForAll()
      }
      let (objects, _, pageCount) = try await setting.list()
      #expect(setting.names(objects) == names)
      #expect(pageCount >= 3)
    },
  ]
}
