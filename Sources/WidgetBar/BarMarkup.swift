import WidgetModel

/// Pango markup, for waybar, i3bar, swaybar and i3blocks.
enum PangoMarkup {
  static func text(of block: BarBlock) -> String {
    block.parts.map { text(of: $0) }.joined()
  }

  static func text(of part: BarPart) -> String {
    var attributes: [String] = []
    if let color = part.color {
      attributes += ["foreground='\(color.hexadecimal)'"] + alpha(color, "fgalpha")
    }
    if let color = part.background {
      attributes += ["background='\(color.hexadecimal)'"] + alpha(color, "bgalpha")
    }
    if part.isBold { attributes.append("weight='bold'") }
    if part.isItalic { attributes.append("style='italic'") }
    if part.isUnderlined { attributes.append("underline='single'") }
    if part.isStruckThrough { attributes.append("strikethrough='true'") }
    let text = escaped(part.text)
    return attributes.isEmpty ? text : "<span \(attributes.joined(separator: " "))>\(text)</span>"
  }

  /// The alpha attribute, a percentage of at least 1. Omitted for opaque colours.
  private static func alpha(_ color: ThemeColor, _ name: String) -> [String] {
    color.alpha == 255 ? [] : ["\(name)='\(max(Int(color.alpha) * 100 / 255, 1))%'"]
  }

  static func escaped(_ text: String) -> String { text.escapedForMarkup }

  /// The markup, with references to the characters that JSON escapes. i3blocks 1.4 shows the escapes of
  /// JSON as they are.
  static func withoutJSONEscapes(_ markup: String) -> String {
    markup.unicodeScalars.reduce(into: "") { result, scalar in
      // Quotes are already references.
      if scalar == "\\" || scalar.actsOnTerminal {
        result += "&#\(scalar.value);"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
  }
}

/// polybar's tags: `%{F#rrggbb}`.
enum PolybarMarkup {
  static func text(of part: BarPart, in block: BarBlock) -> String {
    var text = escaped(part.text)
    if part.isUnderlined { text = "%{+u}\(text)%{-u}" }
    if let color = part.color ?? block.color { text = "%{F\(argb(color))}\(text)%{F-}" }
    if let color = part.background ?? block.background { text = "%{B\(argb(color))}\(text)%{B-}" }
    return text
  }

  /// Escapes text for polybar. polybar reads `%{` as the start of a tag, and has no escape for it.
  /// So a tag without effect goes between the two characters: a move by 0 pixels. An empty tag for the
  /// font would end the font of the user's label.
  static func escaped(_ text: String) -> String {
    var result = ""
    var previous: Unicode.Scalar?
    for scalar in text.unicodeScalars {
      if previous == "%", scalar == "{" { result += "%{O0}" }
      result.unicodeScalars.append(scalar)
      previous = scalar
    }
    // The next part could begin with `{`.
    return result.unicodeScalars.last == "%" ? result + "%{O0}" : result
  }

  /// The start of a part that runs a command; `%{A}` ends it.
  static func action(_ button: Int, _ command: String) -> String {
    "%{A\(button):\(command.map { $0 == ":" ? "\\:" : String($0) }.joined()):}"
  }

  /// `#aarrggbb`.
  private static func argb(_ color: ThemeColor) -> String {
    color.alpha == 255
      ? color.hexadecimal : "#" + digits(color.alpha) + color.hexadecimal.dropFirst()
  }

  private static func digits(_ byte: UInt8) -> String {
    let text = String(byte, radix: 16)
    return text.count < 2 ? "0" + text : text
  }
}

/// tmux's styles: `#[fg=#rrggbb]`.
enum TmuxMarkup {
  static func text(of block: BarBlock) -> String {
    block.parts.map { part in
      var styles: [String] = []
      if let color = part.color ?? block.color { styles.append("fg=\(color.hexadecimal)") }
      if let color = part.background ?? block.background {
        styles.append("bg=\(color.hexadecimal)")
      }
      if part.isBold { styles.append("bold") }
      if part.isItalic { styles.append("italics") }
      if part.isUnderlined { styles.append("underscore") }
      if part.isStruckThrough { styles.append("strikethrough") }
      let text = escaped(part.text)
      return styles.isEmpty ? text : "#[\(styles.joined(separator: ","))]\(text)#[default]"
    }.joined()
  }

  /// tmux reads `##` as `#`, and it reads the text twice. So an empty style follows each sign. The
  /// style keeps the signs apart from any `#` that comes next, also from one in the user's format.
  static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { result, scalar in
      result += scalar == "#" ? "###[]" : String(scalar)
    }
  }
}

extension ThemeColor {
  /// `#rrggbb`, whatever its alpha is.
  var hexadecimal: String { ThemeColor(red: red, green: green, blue: blue).description }
}
