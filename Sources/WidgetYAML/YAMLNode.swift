/// A node of a YAML document, with its place in the text.
public struct YAMLNode: Hashable, Sendable {
  public var place: YAMLPlace
  public var content: Content

  public enum Content: Hashable, Sendable {
    /// `isPlain` is false for quoted and block scalars: only a plain `5` can be a number.
    case scalar(String, isPlain: Bool)
    case sequence([YAMLNode])
    case mapping([Entry])
  }

  public struct Entry: Hashable, Sendable {
    public var key: YAMLNode
    public var value: YAMLNode

    public init(key: YAMLNode, value: YAMLNode) {
      self.key = key
      self.value = value
    }
  }

  public init(place: YAMLPlace, content: Content) {
    self.place = place
    self.content = content
  }
}

/// A place in a text. Line and column count from 1; the column counts Unicode scalars.
public struct YAMLPlace: Hashable, Sendable {
  public var line: Int
  public var column: Int

  public init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }
}

/// The reason why a text cannot be read.
public struct YAMLFailure: Error, Hashable, Sendable {
  public var place: YAMLPlace
  public var reason: Reason

  public enum Reason: Hashable, Sendable {
    /// A syntax error, with libyaml's message.
    case syntax(String)
    /// A byte or character that YAML does not allow, with libyaml's message and the byte's offset.
    case character(String, byte: Int)
    /// A mapping has this key twice.
    case duplicateKey(String, first: YAMLPlace)
    /// A tag as in the text, such as `!!str`, and the text of its node if the node is a scalar.
    case tag(String, of: String?)
    /// An anchor or alias where they are not allowed.
    case alias(String)
    case unknownAlias(String)
    case tooManyNodes(max: Int)
    case tooDeep(max: Int)
    /// A comment stands where a value is missing, and was probably meant as that value: `#fff`.
    case hiddenValue(String, isOfKey: Bool)
    /// There is more than one document.
    case severalDocuments
    /// A value that the reader of the document rejects, with the reader's message.
    case value(String)
    /// Out of memory.
    case memory
  }

  public init(place: YAMLPlace, reason: Reason) {
    self.place = place
    self.reason = reason
  }
}
