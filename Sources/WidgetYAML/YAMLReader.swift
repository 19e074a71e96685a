import CYAML

/// Reads YAML documents into trees, from the events of libyaml.
///
/// Memory and time are bounded by `nodesMax` and `depthMax`. The input is always UTF-8, because it
/// is a Swift string. Tags are errors, because no document of widgets needs them. If the reader
/// dropped the `!`, a condition would be inverted.
public struct YAMLReader: ~Copyable {
  public struct Options: Hashable, Sendable {
    /// The maximum number of nodes of all documents together. Expanded aliases count; keys of
    /// mappings do not.
    public var nodesMax: Int
    /// The maximum depth of nested sequences and mappings.
    public var depthMax: Int
    /// Whether `*name` is replaced by the node with the anchor `&name`. Otherwise both are errors.
    public var expandsAliases: Bool

    public init(nodesMax: Int, depthMax: Int, expandsAliases: Bool) {
      self.nodesMax = nodesMax
      self.depthMax = depthMax
      self.expandsAliases = expandsAliases
    }
  }

  /// The documents of a text. An empty document is an empty plain scalar.
  public static func documents(
    of text: String, _ options: Options
  ) throws(YAMLFailure) -> [YAMLNode] {
    var result: [YAMLNode] = []
    var reader = try YAMLReader(text, options)
    while let document = try reader.nextDocument() { result.append(document) }
    return result
  }

  /// The only document of a text. Nil if the text has none.
  public static func document(
    of text: String, _ options: Options
  ) throws(YAMLFailure) -> YAMLNode? {
    var reader = try YAMLReader(text, options)
    guard let document = try reader.nextDocument() else { return nil }
    guard try !reader.isAtDocument() else {
      throw YAMLFailure(place: reader.documentPlace, reason: .severalDocuments)
    }
    return document
  }

  // MARK: - Events

  private let options: Options
  // libyaml keeps pointers to the text and to its parser, so neither may move.
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let bytes: UnsafeMutableBufferPointer<UInt8>
  private var nodeCount = 0
  private var documentPlace = YAMLPlace(line: 1, column: 1)
  /// The depth of the deepest node so far in the node that is being read.
  private var deepest = 0
  /// The anchored nodes of this document, by anchor.
  private var anchors: [String: Anchored] = [:]
  /// The offsets of the lines in the text; nil until they are needed.
  private var lineStarts: [Int]?
  /// The line that `scalars(ofLine:)` has read last.
  private var lastLine: (number: Int, scalars: [Unicode.Scalar])?

  private struct Anchored {
    var node: YAMLNode
    /// The number of nodes in its subtree, itself included.
    var count: Int
    /// The number of levels below it.
    var height: Int
  }

  private init(_ text: String, _ options: Options) throws(YAMLFailure) {
    self.options = options
    // libyaml keeps a byte order mark, because the encoding is given.
    let text =
      text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    parser = .allocate(capacity: 1)
    bytes = .allocate(capacity: text.utf8.count)
    _ = bytes.initialize(from: text.utf8)
    // The deinitializer frees them. A parser that failed to start is empty, so deleting it does nothing.
    parser.initialize(to: yaml_parser_t())
    guard yaml_parser_initialize(parser) != 0 else {
      throw YAMLFailure(place: .init(line: 1, column: 1), reason: .memory)
    }
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
    bytes.deallocate()
  }

  /// A copy of libyaml's next event. It holds no memory of libyaml.
  private enum Event {
    case documentStart
    case scalar(String, isPlain: Bool)
    case sequenceStart
    case mappingStart
    case end
    case alias
    case streamEnd
    case other
  }

  private struct Token {
    var event: Event
    var place: YAMLPlace
    var anchor: String?
    var tag: String?
  }

  private mutating func next() throws(YAMLFailure) -> Token {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) != 0 else { throw failure() }
    defer { yaml_event_delete(&event) }
    var token = Token(event: .other, place: YAMLReader.place(event.start_mark))
    switch event.type {
    case YAML_DOCUMENT_START_EVENT: token.event = .documentStart
    case YAML_STREAM_END_EVENT: token.event = .streamEnd
    case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: token.event = .end
    case YAML_ALIAS_EVENT:
      token.event = .alias
      token.anchor = YAMLReader.text(event.data.alias.anchor)
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      let value = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
      token.event = .scalar(
        String(decoding: value, as: UTF8.self), isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
      (token.anchor, token.tag) = (YAMLReader.text(scalar.anchor), YAMLReader.text(scalar.tag))
    case YAML_SEQUENCE_START_EVENT:
      let start = event.data.sequence_start
      token.event = .sequenceStart
      (token.anchor, token.tag) = (YAMLReader.text(start.anchor), YAMLReader.text(start.tag))
    case YAML_MAPPING_START_EVENT:
      let start = event.data.mapping_start
      token.event = .mappingStart
      (token.anchor, token.tag) = (YAMLReader.text(start.anchor), YAMLReader.text(start.tag))
    default: break
    }
    return token
  }

  private static func text(_ bytes: UnsafeMutablePointer<yaml_char_t>?) -> String? {
    bytes.map { String(cString: $0) }
  }

  static func place(_ mark: yaml_mark_t) -> YAMLPlace {
    YAMLPlace(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
  }

  /// The reason why the parser stopped.
  private func failure() -> YAMLFailure {
    let words = parser.pointee.problem.map { String(cString: $0) } ?? "this is not YAML"
    switch parser.pointee.error {
    case YAML_MEMORY_ERROR:
      return YAMLFailure(place: YAMLReader.place(parser.pointee.mark), reason: .memory)
    case YAML_READER_ERROR:
      // libyaml reads ahead of its parser, so the parser's mark is not the place of the error.
      let offset = parser.pointee.problem_offset
      let isNUL = bytes.indices.contains(offset) && bytes[offset] == 0
      return YAMLFailure(
        place: place(ofByte: offset),
        reason: .character(isNUL ? "there is a NUL character" : words, byte: offset))
    default:
      // libyaml notices a missing quote at the end of the text, but the author needs the place of
      // the opening quote.
      let mark =
        YAMLFailure.isQuoteOpen(words)
        ? parser.pointee.context_mark : parser.pointee.problem_mark
      return YAMLFailure(place: placeInText(mark), reason: .syntax(words))
    }
  }

  /// The place of a mark. A mark behind the last word of the text is moved to the end of that word's
  /// line, so that the line can be shown. A tab there stays, because it is the mistake.
  private func placeInText(_ mark: yaml_mark_t) -> YAMLPlace {
    let blanks = Set(" \t\r\n".utf8)
    guard let last = bytes.lastIndex(where: { !blanks.contains($0) }) else {
      return YAMLPlace(line: 1, column: 1)
    }
    let end = place(ofByte: last + 1)
    let place = YAMLReader.place(mark)
    return place.line > end.line && !isTab(at: Int(mark.index)) ? end : place
  }

  /// - Parameter index: the number of characters before it.
  private func isTab(at index: Int) -> Bool {
    var left = index
    for byte in bytes where byte & 0xC0 != 0x80 {
      guard left > 0 else { return byte == UInt8(ascii: "\t") }
      left -= 1
    }
    return false
  }

  private func place(ofByte offset: Int) -> YAMLPlace {
    var place = YAMLPlace(line: 1, column: 1)
    for byte in bytes.prefix(offset) {
      if byte == UInt8(ascii: "\n") {
        place = YAMLPlace(line: place.line + 1, column: 1)
      } else if byte & 0xC0 != 0x80 {
        place.column += 1
      }
    }
    return place
  }

  // MARK: - Nodes

  private mutating func nextDocument() throws(YAMLFailure) -> YAMLNode? {
    guard try isAtDocument() else { return nil }
    anchors = [:]
    return try node(next(), depth: 0)
  }

  /// Advances to the start of the next document. Returns false at the end of the text.
  private mutating func isAtDocument() throws(YAMLFailure) -> Bool {
    while true {
      let token = try next()
      switch token.event {
      case .streamEnd: return false
      case .documentStart:
        documentPlace = token.place
        return true
      default: continue
      }
    }
  }

  private mutating func node(
    _ token: Token, depth: Int, isKey: Bool = false
  ) throws(YAMLFailure) -> YAMLNode {
    if case .alias = token.event { return try repeated(token, depth: depth) }
    if let tag = token.tag {
      let text: String? = if case .scalar(let text, _) = token.event { text } else { nil }
      throw YAMLFailure(place: token.place, reason: .tag(YAMLReader.written(tag), of: text))
    }
    if let anchor = token.anchor, !options.expandsAliases {
      throw YAMLFailure(place: token.place, reason: .alias(anchor))
    }
    let before = nodeCount
    if !isKey { try count(1, at: token.place) }
    try reach(depth, at: token.place)
    let deepestBefore = deepest
    deepest = depth
    let node = YAMLNode(place: token.place, content: try content(token, depth: depth))
    if let anchor = token.anchor {
      anchors[anchor] = Anchored(
        // A key does not count as a node, but its repetitions do.
        node: node, count: max(1, nodeCount - before), height: deepest - depth)
    }
    deepest = max(deepest, deepestBefore)
    return node
  }

  private mutating func content(
    _ token: Token, depth: Int
  ) throws(YAMLFailure) -> YAMLNode.Content {
    switch token.event {
    case .sequenceStart:
      var elements: [YAMLNode] = []
      while let element = try nextElement() {
        let element = try node(element, depth: depth + 1)
        try checkHidden(element)
        elements.append(element)
      }
      return .sequence(elements)
    case .mappingStart:
      var entries: [YAMLNode.Entry] = []
      var places: [String: YAMLPlace] = [:]
      while let token = try nextElement() {
        let key = try node(token, depth: depth + 1, isKey: true)
        if case .scalar(let name, _) = key.content,
          let first = places.updateValue(token.place, forKey: name)
        {
          throw YAMLFailure(place: token.place, reason: .duplicateKey(name, first: first))
        }
        let value = try node(next(), depth: depth + 1)
        try checkHidden(value, of: key)
        entries.append(.init(key: key, value: value))
      }
      return .mapping(entries)
    case .scalar(let text, let isPlain):
      return .scalar(text, isPlain: isPlain)
    default:
      throw YAMLFailure(place: token.place, reason: .syntax("this is not YAML"))
    }
  }

  /// Refuses a missing value with a comment that was probably meant as the value.
  private mutating func checkHidden(
    _ value: YAMLNode, of key: YAMLNode? = nil
  ) throws(YAMLFailure) {
    guard value.content == .scalar("", isPlain: true) else { return }
    var place = value.place
    // In braces, libyaml puts a missing value at the end of the comment.
    if let key, case .scalar(let name, isPlain: true) = key.content {
      place = key.place
      place.column += name.unicodeScalars.count + 1
    }
    guard let hidden = HiddenValue(after: place, in: scalars(ofLine: place.line)) else { return }
    throw YAMLFailure(
      place: hidden.place, reason: .hiddenValue(hidden.text, isOfKey: key != nil))
  }

  private mutating func scalars(ofLine number: Int) -> [Unicode.Scalar] {
    // A long line can have many missing values.
    if let lastLine, lastLine.number == number { return lastLine.scalars }
    let newline = UInt8(ascii: "\n")
    let starts = lineStarts ?? [0] + bytes.indices.filter { bytes[$0] == newline }.map { $0 + 1 }
    lineStarts = starts
    guard starts.indices.contains(number - 1) else { return [] }
    let line = bytes[starts[number - 1]...].prefix { $0 != newline }
    let scalars = Array(String(decoding: line, as: UTF8.self).unicodeScalars)
    lastLine = (number, scalars)
    return scalars
  }

  /// The start of the next element; nil at the end of the sequence or mapping.
  private mutating func nextElement() throws(YAMLFailure) -> Token? {
    let token = try next()
    if case .end = token.event { return nil }
    return token
  }

  private mutating func repeated(_ token: Token, depth: Int) throws(YAMLFailure) -> YAMLNode {
    let name = token.anchor ?? ""
    guard options.expandsAliases else {
      throw YAMLFailure(place: token.place, reason: .alias(name))
    }
    guard let anchored = anchors[name] else {
      throw YAMLFailure(place: token.place, reason: .unknownAlias(name))
    }
    try count(anchored.count, at: token.place)
    try reach(depth + anchored.height, at: token.place)
    return anchored.node
  }

  private mutating func reach(_ depth: Int, at place: YAMLPlace) throws(YAMLFailure) {
    guard depth <= options.depthMax else {
      throw YAMLFailure(place: place, reason: .tooDeep(max: options.depthMax))
    }
    deepest = max(deepest, depth)
  }

  private mutating func count(_ nodes: Int, at place: YAMLPlace) throws(YAMLFailure) {
    nodeCount += nodes
    guard nodeCount <= options.nodesMax else {
      throw YAMLFailure(place: place, reason: .tooManyNodes(max: options.nodesMax))
    }
  }

  /// A tag as authors write it: libyaml gives `!!str` as `tag:yaml.org,2002:str`.
  private static func written(_ tag: String) -> String {
    let core = "tag:yaml.org,2002:"
    return tag.hasPrefix(core) ? "!!" + tag.dropFirst(core.count) : tag
  }
}
