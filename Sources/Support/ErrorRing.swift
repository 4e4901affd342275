package import Core

/// The last failures, for `status`; old ones make room for new ones.
package final class ErrorRing: Sendable {
  /// One failure.
  package struct Record: Hashable, Sendable {
    /// When.
    package var time: Timestamp
    /// The file operation, such as `read`.
    package var operation: String
    /// The path in the mount.
    package var path: String
    /// What the application was told.
    package var error: FileError

    /// Creates a record.
    package init(time: Timestamp, operation: String, path: String, error: FileError) {
      self.time = time
      self.operation = operation
      self.path = path
      self.error = error
    }
  }

  private let records = Lock<[Record]>([])
  private let countMax: Int

  /// Creates an empty ring that keeps the last `countMax` records.
  package init(countMax: Int = 64) {
    self.countMax = countMax
  }

  /// Adds a record.
  package func append(_ record: Record) {
    records.withLock { records in
      records.append(record)
      if records.count > countMax { records.removeFirst() }
    }
  }

  /// The records, oldest first.
  package var all: [Record] { records.withLock { $0 } }
}
