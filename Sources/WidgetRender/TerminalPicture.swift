import WidgetModel

/// Pictures as sequences that terminals draw with pixels. Pure: pixels or a file in, text out.
///
/// Each sequence draws at the cursor. The terminal's capabilities say which sequence it knows.
/// Terminals without any get half blocks (`CellGrid.picture`).
public enum TerminalPicture {
  /// For kitty and Ghostty (the kitty graphics protocol): pixels, over an area of cells.
  ///
  /// - Parameter id: Names the picture, to remove or replace it; 1 or more.
  public static func kitty(_ image: PixelImage, columns: Int, rows: Int, id: UInt32) -> String {
    kitty("f=32,s=\(image.width),v=\(image.height)", image.rgba, columns, rows, id)
  }

  /// The same for the bytes of a PNG file.
  public static func kitty(png: [UInt8], columns: Int, rows: Int, id: UInt32) -> String {
    kitty("f=100", png, columns, rows, id)
  }

  /// Removes a picture from a terminal that knows the kitty graphics protocol.
  public static func kittyRemoval(id: UInt32) -> String { "\u{1B}_Ga=d,d=I,i=\(id),q=2\u{1B}\\" }

  private static func kitty(
    _ format: String, _ bytes: [UInt8], _ columns: Int, _ rows: Int, _ id: UInt32
  ) -> String {
    // The protocol takes at most 4096 characters at a time. The cursor does not move, and the
    // terminal sends no answer.
    var keys = "a=T,\(format),c=\(max(columns, 1)),r=\(max(rows, 1)),i=\(id),C=1,q=2,"
    var rest = PaddedBase64.encode(bytes)[...]
    var output = ""
    repeat {
      let chunk = rest.prefix(4096)
      rest = rest.dropFirst(chunk.count)
      output += "\u{1B}_G\(keys)m=\(rest.isEmpty ? 0 : 1);\(chunk)\u{1B}\\"
      keys = ""
    } while !rest.isEmpty
    return output
  }

  /// For iTerm2 and WezTerm: the bytes of a picture's file, over an area of cells.
  public static func iterm(file: [UInt8], columns: Int, rows: Int) -> String {
    "\u{1B}]1337;File=inline=1;size=\(file.count);width=\(max(columns, 1));height=\(max(rows, 1));"
      + "preserveAspectRatio=1;doNotMoveCursor=1:\(PaddedBase64.encode(file))\u{7}"
  }

  /// The same for pixels.
  public static func iterm(_ image: PixelImage, columns: Int, rows: Int) -> String {
    iterm(file: PNGEncoder.bytes(image), columns: columns, rows: rows)
  }

  /// For terminals with sixels: pixels as they are, so scale them to the cells first. Pixels that
  /// are less than half opaque are transparent. More than 256 colours are dithered to 216.
  public static func sixel(_ image: PixelImage) -> String { SixelEncoder.text(image) }
}
