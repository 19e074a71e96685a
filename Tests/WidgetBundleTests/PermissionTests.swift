import Testing
import WidgetBundle

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
  func `a host may be spoken to if it is named with its port`(
    host: String, port: Int, allowed: Bool
  ) {
    #expect(permissions.allowHost(host, port: port) == allowed)
  }

  @Test func `a program may be run if it is named as it is written`() {
    #expect(permissions.allowRunning("df"))
    #expect(permissions.allowRunning("${bundle}/run"))
    #expect(!permissions.allowRunning("/bin/df"))
    #expect(!permissions.allowRunning("${bundle}/other"))
  }
}
