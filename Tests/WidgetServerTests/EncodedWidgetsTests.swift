import Testing

@testable import WidgetServer

/// Encoded widgets that readers share.
struct EncodedWidgetsTests {
  @Test func `a widget is found at its revision only`() {
    var widgets = EncodedWidgets(bytesMax: 100)
    widgets.keep([1, 2], at: 3, 7)
    #expect(widgets.chunk(at: 3, 7) == [1, 2])
    #expect(widgets.chunk(at: 3, 8) == nil)
    #expect(widgets.chunk(at: 2, 7) == nil)
    #expect(widgets.chunk(at: 9, 7) == nil)
  }

  @Test func `the newer bytes of a slot replace the older ones`() {
    var widgets = EncodedWidgets(bytesMax: 100)
    widgets.keep([UInt8](repeating: 0, count: 60), at: 0, 1)
    widgets.keep([UInt8](repeating: 0, count: 80), at: 0, 2)
    #expect(widgets.byteCount == 80)
    #expect(widgets.chunk(at: 0, 1) == nil)
    #expect(widgets.chunk(at: 0, 2)?.count == 80)
  }

  @Test func `nothing is kept above the limit`() {
    var widgets = EncodedWidgets(bytesMax: 100)
    widgets.keep([UInt8](repeating: 0, count: 60), at: 0, 1)
    widgets.keep([UInt8](repeating: 0, count: 41), at: 1, 1)
    #expect(widgets.byteCount == 60)
    #expect(widgets.chunk(at: 1, 1) == nil)
    widgets.removeAll()
    #expect(widgets.byteCount == 0)
    #expect(widgets.chunk(at: 0, 1) == nil)
  }
}
