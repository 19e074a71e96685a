/// A part of a YAML document, and its place in the text.
public struct YAMLNode: Hashable, Sendable {
  public var place: YAMLPlace
  public var content: Content
  /// The tag as the text has it, resolved by its handle: `tag:yaml.org,2002:binary`, `!color`. Nil
  /// if there is none.
  public var tag: String?

  public enum Content: Hashable, Sendable {
    /// `isPlain`: not in quotes and not a block, so that `5` can be a number.
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

  public init(place: YAMLPlace, content: Content, tag: String? = nil) {
    self.place = place
    self.content = content
    self.tag = tag
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

/// Why a text cannot be read.
public struct YAMLFailure: Error, Hashable, Sendable {
  public var place: YAMLPlace
  public var reason: Reason

  public enum Reason: Hashable, Sendable {
    /// The text is not YAML, in libyaml's words.
    case syntax(String)
    /// The text has a byte or a character that YAML does not allow. The words are libyaml's; `byte`
    /// counts from 0.
    case character(String, byte: Int)
    /// A mapping has these keys more than once, in the order of the text.
    case duplicateKeys([String])
    case alias(String)
    case unknownAlias(String)
    case tooManyNodes(max: Int)
    case tooDeep(max: Int)
    /// There is more than one document.
    case severalDocuments
    /// A value is not taken where it stands, in the words of who reads the document.
    case value(String)
    /// Memory is used up.
    case memory
  }

  public init(place: YAMLPlace, reason: Reason) {
    self.place = place
    self.reason = reason
  }
}
