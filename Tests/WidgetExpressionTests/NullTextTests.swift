import Testing
import WidgetExpression

struct NullTextTests {
  @Test(arguments: [
    ("w.e != null", #"w.e != """#), ("w.e==null", #"w.e == """#), ("null == w.e", #"w.e == """#),
    ("!(w.e != null)&&x", #"!(w.e != "")&&x"#),
    ("w.e != null || w.e == null", #"w.e != "" || w.e == """#),
    ("w.e != nullable", "w.e != nullable"), ("a.w.e != null", "a.w.e != null"),
    ("x == 'w.e != null'", "x == 'w.e != null'"),
    (#"x == "\"w.e != null""#, #"x == "\"w.e != null""#),
    ("w.em != null", "w.em != null"), ("null == w.e.f", "null == w.e.f"), ("w.e", "w.e"),
    ("'", "'"),
  ])
  func `a text that is never null is compared with the empty text`(source: String, text: String) {
    #expect(NullText.comparingEmpty("w.e", in: source) == text)
  }
}
