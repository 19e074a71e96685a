import WidgetModel

/// The widgets that a group writes. Each becomes an image only when it is read.
///
/// A command can change all widgets. Their images together need several times the memory of the
/// widgets, so a log reads and writes them one by one. Valid until the store changes.
public struct PendingWidgets {
  private var records: [Record]
  private let schemas: KindSchemas

  /// No widgets.
  public init() { self.init([], KindSchemas()) }

  init(_ records: [Record], _ schemas: KindSchemas) {
    (self.records, self.schemas) = (records, schemas)
  }

  public var count: Int { records.count }

  /// The image of a widget, as it is stored: without its data if the data does not outlive a
  /// restart. O(its keys).
  public subscript(index: Int) -> RecordImage {
    let record = records[index]
    var image = RecordImage(record)
    if schemas[record.kind]?.kind.persistence == .volatile {
      image.data = []
      image.owners = record.ownership?.withoutData?.stored
    }
    return image
  }

  /// All images. O(keys of all).
  public var images: [RecordImage] { records.indices.map { self[$0] } }

  /// Puts the widgets in the order of the bytes of their ids.
  public mutating func sortByID() {
    records.sort { $0.id.rawValue.precedesByBytes($1.id.rawValue) }
  }
}

extension WidgetStore {
  /// The size of the widgets and events that the next group writes, as quotas count it. O(1).
  public var pendingBytes: Int {
    keepsInverses ? records.pendingBytes + unacknowledged.pendingBytes : 0
  }

  /// The number of rows of widgets, tombstones and events that the next group writes. A widget whose
  /// kind and data both change can count twice. O(1).
  public var pendingRows: Int {
    keepsInverses ? records.pendingRows + unacknowledged.pendingCount : 0
  }
}
