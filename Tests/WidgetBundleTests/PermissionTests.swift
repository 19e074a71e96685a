import Testing
import WidgetBundle
import WidgetModel

@Suite struct PermissionTests {
  private let permissions = Permissions(
    read: ["/proc/loadavg", "/var/log", "${home}/notes"],
    hosts: ["api.example.org", "127.0.0.1:8080", "*.example.net", "[::1]:9000"],
    commands: ["df", "${bundle}/run"])

  @Test(arguments: [
    ("/proc/loadavg", true), ("/proc/loadavg2", false), ("/proc", false), ("/var/log", true),
    ("/var/log/a/b", true), ("/var/logs", false), ("/var/log/../x", false), ("proc", false),
    ("${bundle}/data.json", true), ("${bundle}/../x", false), ("${bundle}x", false),
    ("${home}/notes/a", true), ("${home}/other", false), ("", false),
  ])
  func `a path may be read if it or a folder above it is named`(path: String, allowed: Bool) {
    #expect(permissions.allowReading(path) == allowed)
  }

  @Test(arguments: [
    ("api.example.org", 443, true), ("API.example.org", 80, true), ("api.example.org", 8080, false),
    ("127.0.0.1", 8080, true), ("127.0.0.1", 80, false), ("a.example.net", 443, true),
    ("a.b.example.net", 443, true), ("example.net", 443, false), ("badexample.net", 443, false),
    ("::1", 9000, true), ("::1", 80, false), ("example.org", 443, false),
  ])
  func `a connection to a host is allowed if its name and port are listed`(
    host: String, port: Int, allowed: Bool
  ) {
    #expect(permissions.allowHost(host, port: port) == allowed)
  }

  @Test func `a program may be run if it is listed exactly as written`() {
    #expect(permissions.allowRunning("df"))
    #expect(permissions.allowRunning("${bundle}/run"))
    #expect(!permissions.allowRunning("/bin/df"))
    #expect(!permissions.allowRunning("${bundle}/other"))
  }

  @Test(arguments: [
    ("SWAYSOCK", "SWAYSOCK", true), ("SWAYSOCK", "SWAYSOCK2", false), ("XDG_*", "XDG_SEAT", true),
    ("XDG_*", "XDG", false), ("XDG_*", "AXDG_SEAT", false),
  ])
  func `variables are permitted by name or by beginning`(rule: String, name: String, allowed: Bool)
  {
    #expect(Permissions(environment: [rule]).allowsVariable(name) == allowed)
  }

  @Test(arguments: [
    "LD_PRELOAD", "LD_*", "L*", "PATH", "P*", "*", "BASH_ENV", "PYTHONPATH", "PYTHONSTARTUP",
    "GLIBC_TUNABLES", "A=B", "", "1A", "A B", "A*B",
  ])
  func `a variable that decides what code runs, or an invalid one, is refused`(name: String) {
    func problems(_ name: String) -> [BundleProblem] {
      Samples.problems(
        Samples.kind("displayName: K", permissions: "{environment: [\"\(name)\"]}"))
    }
    #expect(problems(name).count == 1)
    #expect(problems("SWAYSOCK").isEmpty)
  }

  @Test func `expressions read the variables that permissions name`() throws {
    func label(_ text: String, _ permissions: String = "[SWAYSOCK, 'XDG_*']") throws -> String {
      let bundle = try BundleReader.read(
        Samples.kind(
          "on: {go: {set: {text: '\(text)'}}}",
          permissions: "{environment: \(permissions)}"),
        environment: ["SWAYSOCK": "/run/s", "XDG_SEAT": "seat0", "SECRET": "x"])
      return bundle.kinds[0].kind.reducers.first?.assignments["text"] ?? "none"
    }
    #expect(try label("string(environment.SWAYSOCK)").contains("/run/s"))
    #expect(try label("string(environment.XDG_SEAT)").contains("seat0"))
    #expect(
      try label("environment.XDG_NONE == null ? \"a\" : \"b\"").contains("\"XDG_NONE\": null"))
    #expect(try !label("string(environment.SWAYSOCK)").contains("SECRET"))
    #expect {
      _ = try label("string(environment.SECRET)")
    } throws: { error in
      "\((error as? InvalidBundle)?.problems ?? [])".contains(
        "the bundle may not read the variable SECRET")
    }
  }

  @Test func `sockets are permitted by path, also with a variable`() throws {
    func read(_ sockets: String, _ source: String) throws -> Bundle {
      try BundleReader.read(
        Samples.kind(
          "sources: {s: {socket: \(source), set: {text: result}}}",
          permissions: "{environment: [RUN], sockets: [\(sockets)]}"),
        environment: ["RUN": "/run/me"])
    }
    #expect(
      try read("'${environment.RUN}/a'", "'=string(environment.RUN) + \"/a\"'").permissions.sockets
        == ["/run/me/a"])
    #expect(try read("/run/b", "{path: /run/b, send: hello}").kinds[0].sources[0].isContinuous)
    for (sockets, source, message) in [
      ("/run/b", "/run/c", "may not use the socket /run/c"),
      ("b", "/run/b", "not an absolute path"),
      ("'${environment.OTHER}/a'", "/run/b", "may not read the variable OTHER"),
      ("/run/b", "{send: x}", "path is missing"),
    ] {
      #expect {
        _ = try read(sockets, source)
      } throws: {
        "\(($0 as? InvalidBundle)?.problems ?? [])".contains(message)
      }
    }
  }
}
