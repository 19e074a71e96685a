import CWidgetProto

/// A .proto file of the daemon's services.
public struct ProtoFile: Hashable, Sendable {
  /// "widgetd/v1/widget.proto"
  public let name: String
  /// The encoded `google.protobuf.FileDescriptorProto`.
  public let descriptor: [UInt8]
  /// The indices in `all` of the imported files.
  public let imports: [Int]
  /// The full names of its messages, enums, services and methods.
  public let symbols: [String]

  /// All files. The imports of a file come before it.
  public static let all: [ProtoFile] = (0..<wp_file_count).map { index in
    let file = wp_file_at(index).pointee
    return ProtoFile(
      name: String(cString: file.name),
      descriptor: Array(UnsafeBufferPointer(start: file.bytes, count: file.count)),
      imports: Array(UnsafeBufferPointer(start: file.imports, count: file.import_count)),
      symbols: (0..<file.symbol_count).map { String(cString: file.symbols[$0]) })
  }
}
