import CWidgetProto
import WidgetModel

// Writing without structs. A new reader gets all widgets, and each widget is a dozen small
// messages. Most of the time was spent on making the structs and reading their fields.

/// A message that is written from the domain's value, without protobuf-c's structs.
///
/// The bytes are the same as with structs. If this fails, the message is written with structs, so
/// that all errors come from one place.
protocol DirectMessage: ConvertibleMessage {
  /// Puts the fields in front of the output, the last one first. False if the message cannot be
  /// written: a text with a NUL, too deep a value, no memory.
  func writeFields(to output: DirectOutput) -> Bool
}

extension DirectMessage {
  public func write(to target: WireTarget) throws(WireError) -> Bool {
    let output = DirectOutput(writer: target.writer)
    let before = output.count
    if writeFields(to: output), output.count - before <= target.writer.codec.limits.arenaBytesMax {
      return true
    }
    wp_output_truncate(target.writer.codec.output, before)
    return wp_encode(target.writer.codec.output, try build(in: target).base)
  }
}

/// Puts fields in front of a codec's output. Each function returns false if it cannot write its field.
struct DirectOutput {
  let writer: Writer
  private let output: UnsafeMutablePointer<wp_output>

  init(writer: Writer) {
    self.writer = writer
    output = writer.codec.output
  }

  var mask: ReadMask { writer.mask }
  /// The number of written bytes.
  var count: Int { wp_output_count(output) }

  // MARK: Fields that are left out if they are 0 or empty

  @inline(__always)
  func number(_ field: UInt32, _ value: UInt64) -> Bool { value == 0 || always(field, value) }

  @inline(__always)
  func number(_ field: UInt32, _ value: Int64) -> Bool {
    number(field, UInt64(bitPattern: value))
  }

  @inline(__always)
  func flag(_ field: UInt32, _ value: Bool) -> Bool { number(field, value ? 1 : UInt64(0)) }

  @inline(__always)
  func text(_ field: UInt32, _ text: String) -> Bool { text.isEmpty || always(field, text) }

  func bytes(_ field: UInt32, _ bytes: [UInt8]) -> Bool { bytes.isEmpty || always(field, bytes) }

  // MARK: Fields that are always written, because they are in a oneof or repeated

  @inline(__always)
  func always(_ field: UInt32, _ value: UInt64) -> Bool { wp_encode_varint(output, field, value) }

  func always(fixed field: UInt32, _ bits: UInt64) -> Bool {
    wp_encode_fixed64(output, field, bits)
  }

  func always(_ field: UInt32, _ text: String) -> Bool {
    var text = text
    return text.withUTF8 { wp_encode_text(output, field, $0.baseAddress, $0.count) }
  }

  func always(_ field: UInt32, _ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBufferPointer { wp_encode_bytes(output, $0.baseAddress, $0.count) }
      && wp_encode_field(output, field, bytes.count)
  }

  // MARK: Parts of a field

  /// The characters of a part of a text, without a tag.
  func characters(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { wp_encode_characters(output, $0.baseAddress, $0.count) }
  }

  @inline(__always)
  func characters(_ text: StaticString) -> Bool {
    wp_encode_bytes(output, text.utf8Start, text.utf8CodeUnitCount)
  }

  // MARK: Messages

  /// A message field.
  @inline(__always)
  func message(_ field: UInt32, _ body: () -> Bool) -> Bool {
    let before = count
    return body() && wp_encode_field(output, field, count - before)
  }

  @inline(__always)
  func message(_ field: UInt32, _ message: (some DirectMessage)?) -> Bool {
    guard let message else { return true }
    return self.message(field) { message.writeFields(to: self) }
  }

  /// A message that is written from its struct.
  func message(_ field: UInt32, struct message: (some ConvertibleMessage)?) -> Bool {
    guard let message else { return true }
    guard let tree = try? message.build(in: WireTarget(writer: writer)) else { return false }
    return self.message(field) { wp_encode(output, tree.base) }
  }

  // MARK: Repeated fields

  @inline(__always)
  func each<T>(_ elements: [T], _ write: (T) -> Bool) -> Bool {
    var index = elements.count
    while index > 0 {
      index -= 1
      guard write(elements[index]) else { return false }
    }
    return true
  }

  func texts(_ field: UInt32, _ texts: [String]) -> Bool { each(texts) { always(field, $0) } }

  func labels(_ field: UInt32, _ labels: Labels) -> Bool {
    each(labels.entries) { entry in
      message(field) {
        text(MapEntry.value, entry.value) && text(MapEntry.key, entry.key)
      }
    }
  }

  func values(_ field: UInt32, _ map: ValueMap, depth: Int = WireLimits.valueDepthMax) -> Bool {
    each(map.entries) { entry in
      message(field) {
        message(MapEntry.value) { entry.value.write(to: self, depth: depth) }
          && text(MapEntry.key, entry.key)
      }
    }
  }

  func timestamp(_ field: UInt32, _ time: Timestamp) -> Bool {
    message(field) {
      number(FieldNumber.Timestamp.nanos, Int64(time.nanoseconds))
        && number(FieldNumber.Timestamp.seconds, time.seconds)
    }
  }

  /// The fields of each entry of a map.
  enum MapEntry {
    static let key: UInt32 = 1
    static let value: UInt32 = 2
  }
}

// MARK: - Values and nodes

extension Value {
  fileprivate func write(to output: DirectOutput, depth: Int) -> Bool {
    typealias Number = FieldNumber.Value
    guard depth > 0 else { return false }
    return switch self {
    case .null: output.always(Number.nullValue, 0)
    case .bool(let value): output.always(Number.boolValue, value ? 1 : 0)
    case .int(let value): output.always(Number.intValue, UInt64(bitPattern: value))
    case .double(let value): output.always(fixed: Number.doubleValue, value.bitPattern)
    case .string(let value): output.always(Number.stringValue, value)
    case .bytes(let value): output.always(Number.bytesValue, value)
    case .list(let values):
      output.message(Number.listValue) {
        output.each(values) { value in
          output.message(FieldNumber.ListValue.values) { value.write(to: output, depth: depth - 2) }
        }
      }
    case .map(let map):
      output.message(Number.mapValue) {
        output.values(FieldNumber.MapValue.entries, map, depth: depth - 3)
      }
    case .timestamp(let time): output.timestamp(Number.timestampValue, time)
    case .duration: output.writeStruct(of: self, depth: depth)
    }
  }
}

extension DirectOutput {
  /// The fields of a value that is written from its struct.
  fileprivate func writeStruct(of value: Value, depth: Int) -> Bool {
    guard let c = try? writer.make(Widgetd__V1__Value.self),
      (try? value.fill(c, writer, depth: depth)) != nil
    else { return false }
    return wp_encode(output, WireTree(message: UnsafeRawPointer(c)).base)
  }
}

extension Content: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    typealias Number = FieldNumber.Content
    let areWritten =
      dataTable?.writeNodes(to: output)
      ?? output.each(nodes) { output.message(Number.nodes, $0) }
    return areWritten && output.text(Number.rootId, rootID)
  }
}

extension Node: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    typealias Number = FieldNumber.Node
    return problemSince.map({ output.timestamp(Number.problemSince, $0) }) ?? true
      && output.texts(Number.events, events) && output.text(Number.problem, problem)
      && output.texts(Number.childIds, childIDs) && output.values(Number.properties, properties)
      && output.number(Number.type, UInt64(type?.rawValue ?? 0)) && output.text(Number.id, id)
  }
}

extension ContentChange: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    typealias Number = FieldNumber.ContentChange
    return output.texts(Number.removedNodeIds, removedIDs)
      && output.each(setNodes) { output.message(Number.setNodes, $0) }
      && output.text(Number.rootId, rootID) && output.flag(Number.replace, replaces)
  }
}

// MARK: - Widgets

extension Presence: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    typealias Number = FieldNumber.Presence
    return output.number(Number.state, UInt64(state.rawValue))
      && output.flag(Number.enabled, isEnabled) && output.flag(Number.visible, isVisible)
  }
}

extension Labels: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    output.labels(FieldNumber.LabelSet.labels, self)
  }
}

extension Widget: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool { writeFields(to: output, tagged: nil) }

  /// - Parameter tagged: the widget with the fields that only answers have; nil for other messages.
  fileprivate func writeFields(to output: DirectOutput, tagged: TaggedWidget?) -> Bool {
    typealias Number = FieldNumber.Widget
    let isAll = output.mask.isEverything
    func wants(_ field: ReadMask.Field) -> Bool { isAll || output.mask.wants(field) }

    let (parameters, data) =
      isAll
      ? (parameters, data)
      : (
        output.writer.wanted(parameters, .parameters, output.mask.parameterKeys),
        output.writer.wanted(data, .data, output.mask.dataKeys)
      )
    return
      (tagged?.storedTimeline == nil || !output.mask.wants(.storedTimeline)
      || output.message(Number.storedTimeline, struct: tagged?.storedTimeline))
      && (!wants(.activity) || output.message(Number.activity, struct: activity))
      && (!wants(.timeline) || output.message(Number.timeline, struct: timeline))
      && (tagged.map {
        $0.owners.isEmpty || !output.mask.wants(.owners)
          || output.each($0.owners) { output.message(Number.owners, struct: $0) }
      } ?? true)
      && (!wants(.content) || output.message(Number.content, content))
      && (tagged.map { !wants(.etag) || output.text(Number.etag, $0.etag) } ?? true)
      && (!wants(.applySet) || output.text(Number.applySet, applySet))
      && (!wants(.ownerUID) || output.number(Number.ownerUid, UInt64(ownerUID)))
      && (!wants(.updateTime) || output.timestamp(Number.updateTime, updateTime))
      && (!wants(.createTime) || output.timestamp(Number.createTime, createTime))
      && output.number(Number.revision, revision)
      && output.number(Number.createdRevision, createdRevision)
      && (!wants(.error) || output.message(Number.error, struct: error))
      && (!wants(.stale) || output.flag(Number.stale, isStale))
      && output.values(Number.data, data) && output.values(Number.parameters, parameters)
      && (!wants(.position) || output.number(Number.position, position))
      && (!wants(.presence) || output.message(Number.presence, presence))
      && (!wants(.labels) || output.labels(Number.labels, labels))
      && (!wants(.family) || output.number(Number.family, UInt64(family.rawValue)))
      && output.text(Number.kind, kind.rawValue) && output.text(Number.id, id.rawValue)
  }
}

extension TaggedWidget: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool { widget.writeFields(to: output, tagged: self) }
}

extension WidgetUpdate: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    typealias Number = FieldNumber.WidgetUpdated
    return output.message(Number.activity, struct: activity)
      && (timeline == nil
        || output.flag(Number.timelineCleared, timeline == .some(nil))
          && output.message(Number.timeline, struct: timeline ?? nil))
      && output.message(Number.content, content)
      && output.number(Number.family, UInt64(family?.rawValue ?? 0))
      && (applySet.map { output.always(Number.applySet, $0) } ?? true)
      && output.message(Number.transition, struct: transition)
      && output.message(Number.error, struct: error.map { $0 ?? .cleared })
      && (isStale.map { output.always(Number.stale, $0 ? 1 : 0) } ?? true)
      && (position.map { output.always(Number.position, UInt64(bitPattern: $0)) } ?? true)
      && output.message(Number.presence, presence) && output.message(Number.labels, labels)
      && output.texts(Number.unsetParameters, unsetParameters)
      && output.values(Number.setParameters, setParameters)
      && output.texts(Number.unsetData, unsetData) && output.values(Number.setData, setData)
      && writeTime(Number.updateTimeNanos, to: output)
      && output.number(Number.revision, revision) && output.text(Number.id, id.rawValue)
  }

  private func writeTime(_ field: UInt32, to output: DirectOutput) -> Bool {
    let nanoseconds = updateTime.nanosecondsSinceEpoch
    return nanoseconds == 0 || output.always(fixed: field, UInt64(bitPattern: nanoseconds))
  }
}

// MARK: - Frames

extension WidgetChange {
  fileprivate func write(to output: DirectOutput) -> Bool {
    switch self {
    case .added(let widget, let transition):
      output.message(FieldNumber.WidgetChange.added) {
        output.message(FieldNumber.WidgetAdded.transition, struct: transition)
          && output.message(FieldNumber.WidgetAdded.widget, widget)
      }
    case .updated(let update): output.message(FieldNumber.WidgetChange.updated, update)
    case .removed(let id, let transition):
      output.message(FieldNumber.WidgetChange.removed) {
        output.message(FieldNumber.WidgetRemoved.transition, struct: transition)
          && output.text(FieldNumber.WidgetRemoved.id, id.rawValue)
      }
    }
  }
}

extension ChangeSet: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    typealias Number = FieldNumber.ChangeSet
    return output.bytes(Number.resumeToken, resumeToken) && output.flag(Number.more, more)
      && output.each(changes) { change in
        output.message(Number.changes) { change.write(to: output) }
      }
      && output.number(Number.toRevision, toRevision)
      && output.number(Number.fromRevision, fromRevision)
  }
}

extension SnapshotChunk: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    typealias Number = FieldNumber.SnapshotChunk
    return output.each(removedIDs) { output.always(Number.removedIds, $0.rawValue) }
      && output.each(widgets) { output.message(Number.widgets, $0) }
  }
}

extension WatchWidgetsResponse: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    typealias Number = FieldNumber.WatchWidgetsResponse
    return switch self {
    case .opened(let frame): output.message(Number.opened, struct: frame)
    case .snapshot(let frame): output.message(Number.snapshot, frame)
    case .synced(let frame): output.message(Number.synced, struct: frame)
    case .changes(let frame): output.message(Number.changes, frame)
    case .events(let frame): output.message(Number.events, struct: frame)
    case .gap(let frame): output.message(Number.gap, struct: frame)
    case .progress(let frame): output.message(Number.progress, struct: frame)
    case .theme(let theme): output.message(Number.theme, struct: theme)
    case .upcoming(let frame): output.message(Number.upcoming, struct: frame)
    case .store(let frame): output.message(Number.store, struct: frame)
    case .unknown: true
    }
  }
}

// MARK: - Answers

extension CreateWidgetResponse: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    typealias Number = FieldNumber.CreateWidgetResponse
    return output.each(warnings) { output.message(Number.warnings, struct: $0) }
      && output.message(Number.widget, TaggedWidget(widget: widget, etag: etag))
  }
}

extension GetWidgetResponse: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    output.message(
      FieldNumber.GetWidgetResponse.widget,
      TaggedWidget(widget: widget, etag: etag, owners: owners, storedTimeline: storedTimeline))
  }
}

extension UpdateWidgetResponse: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    typealias Number = FieldNumber.UpdateWidgetResponse
    return output.flag(Number.changed, changed) && output.number(Number.revision, revision)
      && output.message(Number.widget, widget.map { TaggedWidget(widget: $0, etag: etag) })
  }
}

extension ListWidgetsResponse: DirectMessage {
  func writeFields(to output: DirectOutput) -> Bool {
    typealias Number = FieldNumber.ListWidgetsResponse
    return output.number(Number.revision, revision)
      && output.text(Number.nextPageToken, nextPageToken)
      && output.each(widgets) { output.message(Number.widgets, $0) }
  }
}
