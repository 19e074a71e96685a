import CWidgetProto
import WidgetModel

/// Builds messages for protobuf-c to pack. All memory comes from the codec's arena.
struct Writer {
  unowned(unsafe) let codec: WireCodec
  let arena: UnsafeMutablePointer<wp_arena>
  /// The fields of each widget to send.
  let mask: ReadMask

  init(codec: WireCodec, mask: ReadMask) {
    self.codec = codec
    self.arena = codec.arena
    self.mask = mask
  }

  @inline(__always)
  func allocate<T>(_ count: Int, of type: T.Type) throws(WireError) -> UnsafeMutablePointer<T> {
    guard let memory = wp_arena_alloc(arena, count * MemoryLayout<T>.stride) else {
      throw .budgetExceeded(limitBytes: codec.limits.arenaBytesMax)
    }
    return memory.bindMemory(to: type, capacity: count)
  }

  /// An empty message.
  @inline(__always)
  func make<C: CMessage>(_ type: C.Type) throws(WireError) -> UnsafeMutablePointer<C> {
    let c = try allocate(1, of: type)
    C.initialize(c)
    return c
  }

  /// A message field.
  @inline(__always)
  func message<M: ConvertibleMessage>(
    _ field: StaticString, _ message: M
  ) throws(WireError) -> UnsafeMutablePointer<M.C> {
    let c = try make(M.C.self)
    do throws(WireError) { try message.fill(c, self) } catch { throw error.inside("\(field)") }
    return c
  }

  /// A message field that may be absent.
  @inline(__always)
  func message<M: ConvertibleMessage>(
    _ field: StaticString, optional message: M?
  ) throws(WireError) -> UnsafeMutablePointer<M.C>? {
    guard let message else { return nil }
    return try self.message(field, message)
  }

  /// A repeated message field: the pointers and, in one piece, the messages.
  func list<T, C: CMessage>(
    _ field: StaticString, _ elements: [T], of type: C.Type,
    _ fill: (T, UnsafeMutablePointer<C>) throws(WireError) -> Void
  ) throws(WireError) -> CList<C>? {
    guard !elements.isEmpty else { return nil }
    let pointers = try allocate(elements.count, of: UnsafeMutablePointer<C>?.self)
    let messages = try allocate(elements.count, of: C.self)
    for index in elements.indices {
      let c = messages + index
      C.initialize(c)
      do throws(WireError) { try fill(elements[index], c) } catch {
        throw error.inside("\(field)[\(index)]")
      }
      pointers[index] = c
    }
    return pointers
  }

  /// A repeated message field.
  func list<M: ConvertibleMessage>(
    _ field: StaticString, _ messages: [M]
  ) throws(WireError) -> CList<M.C>? {
    try list(field, messages, of: M.C.self) { (message, c) throws(WireError) in
      try message.fill(c, self)
    }
  }

  /// A text. A text with a NUL is refused, because protobuf-c would end it there.
  func string(
    _ field: StaticString, _ text: String
  ) throws(WireError) -> UnsafeMutablePointer<CChar> {
    var text = text
    let arena = arena
    var hasNUL = false
    let copy = text.withUTF8 { utf8 in
      wp_arena_text(arena, utf8.baseAddress, utf8.count, &hasNUL)
    }
    if let copy { return copy }
    if hasNUL {
      throw .unrepresentable(
        path: "\(field)", description: "text cannot hold a NUL character; use bytes")
    }
    throw .budgetExceeded(limitBytes: codec.limits.arenaBytesMax)
  }

  func strings(
    _ field: StaticString, _ texts: [String]
  ) throws(WireError) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
    guard !texts.isEmpty else { return nil }
    let pointers = try allocate(texts.count, of: UnsafeMutablePointer<CChar>?.self)
    for index in texts.indices { pointers[index] = try string(field, texts[index]) }
    return pointers
  }

  func strings(
    _ field: StaticString, _ ids: [WidgetID]
  ) throws(WireError) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
    guard !ids.isEmpty else { return nil }
    let pointers = try allocate(ids.count, of: UnsafeMutablePointer<CChar>?.self)
    for index in ids.indices { pointers[index] = try string(field, ids[index].rawValue) }
    return pointers
  }

  func strings(
    _ field: StaticString, _ names: [KindName]
  ) throws(WireError) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
    try strings(field, names.map(\.rawValue))
  }

  func bytes(_ bytes: [UInt8]) throws(WireError) -> ProtobufCBinaryData {
    guard !bytes.isEmpty else { return ProtobufCBinaryData() }
    let copy = try allocate(bytes.count, of: UInt8.self)
    bytes.withUnsafeBufferPointer { source in
      if let start = source.baseAddress { copy.update(from: start, count: source.count) }
    }
    return ProtobufCBinaryData(len: bytes.count, data: copy)
  }

  func byteStrings(
    _ strings: [[UInt8]]
  ) throws(WireError) -> UnsafeMutablePointer<ProtobufCBinaryData>? {
    guard !strings.isEmpty else { return nil }
    let copies = try allocate(strings.count, of: ProtobufCBinaryData.self)
    for index in strings.indices { copies[index] = try bytes(strings[index]) }
    return copies
  }

  func numbers(_ numbers: [Int32]) throws(WireError) -> UnsafeMutablePointer<Int32>? {
    guard !numbers.isEmpty else { return nil }
    let copies = try allocate(numbers.count, of: Int32.self)
    for index in numbers.indices { copies[index] = numbers[index] }
    return copies
  }

  /// A message, packed, as the content of a bytes field.
  func packed(_ tree: WireTree) throws(WireError) -> ProtobufCBinaryData {
    let copied: Result<ProtobufCBinaryData, WireError> = try codec.withOutput(
      { wp_encode(codec.output, tree.base) },
      { packed in
        do throws(WireError) {
          let copy = try allocate(packed.byteCount, of: UInt8.self)
          packed.pack(into: copy)
          return .success(ProtobufCBinaryData(len: packed.byteCount, data: copy))
        } catch {
          return .failure(error)
        }
      })
    return try copied.get()
  }

  // MARK: Maps

  /// A map to values, in the order of its keys.
  func entries<E: CValueEntry>(
    _ field: StaticString, _ map: ValueMap, of type: E.Type,
    depth: Int = WireLimits.valueDepthMax
  ) throws(WireError) -> CList<E>? {
    try list(field, map.entries, of: E.self) { (entry, c) throws(WireError) in
      c.pointee.key = try string("key", entry.key)
      let value = try make(Widgetd__V1__Value.self)
      try entry.value.fill(value, self, depth: depth)
      c.pointee.value = value
    }
  }

  /// A map to text, in the order of its keys.
  func entries<E: CStringEntry>(
    _ field: StaticString, _ labels: Labels, of type: E.Type
  ) throws(WireError) -> CList<E>? {
    try list(field, labels.entries, of: E.self) { (entry, c) throws(WireError) in
      c.pointee.key = try string("key", entry.key)
      c.pointee.value = try string("value", entry.value)
    }
  }

  /// A map to text, sorted by key so that equal content has equal bytes.
  func entries<E: CStringEntry>(
    _ field: StaticString, _ dictionary: [String: String], of type: E.Type
  ) throws(WireError) -> CList<E>? {
    let sorted = dictionary.sorted { $0.key.precedesByBytes($1.key) }
    return try list(field, sorted, of: E.self) { (entry, c) throws(WireError) in
      c.pointee.key = try string("key", entry.key)
      c.pointee.value = try string("value", entry.value)
    }
  }

  /// A map to counts, sorted by key so that equal content has equal bytes.
  func entries<E: CCountEntry>(
    _ field: StaticString, _ dictionary: [String: UInt64], of type: E.Type
  ) throws(WireError) -> CList<E>? {
    let sorted = dictionary.sorted { $0.key.precedesByBytes($1.key) }
    return try list(field, sorted, of: E.self) { (entry, c) throws(WireError) in
      c.pointee.key = try string("key", entry.key)
      c.pointee.value = entry.value
    }
  }

  // MARK: Domain types

  func timestamp(
    _ time: Timestamp
  ) throws(WireError) -> UnsafeMutablePointer<Google__Protobuf__Timestamp> {
    let c = try make(Google__Protobuf__Timestamp.self)
    c.pointee.seconds = time.seconds
    c.pointee.nanos = time.nanoseconds
    return c
  }

  /// A span of time, cut to whole nanoseconds.
  func duration(
    _ field: StaticString, _ duration: Duration
  ) throws(WireError) -> UnsafeMutablePointer<Google__Protobuf__Duration> {
    let (seconds, attoseconds) = duration.components
    guard seconds.magnitude <= UInt64(WireLimits.durationSecondsMax) else {
      throw .unrepresentable(
        path: "\(field)", description: "must be at most 10000 years either way")
    }
    let c = try make(Google__Protobuf__Duration.self)
    c.pointee.seconds = seconds
    c.pointee.nanos = Int32(attoseconds / 1_000_000_000)
    return c
  }

  func duration(
    _ field: StaticString, optional duration: Duration?
  ) throws(WireError) -> UnsafeMutablePointer<Google__Protobuf__Duration>? {
    guard let duration else { return nil }
    return try self.duration(field, duration)
  }

  /// A read mask; absent if it wants everything.
  func readMask(
    _ field: StaticString, _ mask: ReadMask
  ) throws(WireError) -> UnsafeMutablePointer<Google__Protobuf__FieldMask>? {
    let paths = mask.paths
    guard !paths.isEmpty else { return nil }
    let c = try make(Google__Protobuf__FieldMask.self)
    c.pointee.n_paths = paths.count
    c.pointee.paths = try strings(field, paths)
    return c
  }
}
