import ArgumentParser
import Testing

@testable import widgetd

@Suite struct `A command line` {
  @Test(arguments: [
    "", "--socket /tmp/s", "--socket-mode 0600 --client-group users",
    "--socket /tmp/s --state-directory /tmp/d --store memory --durability power --log-level debug",
    "--config /tmp/c --store sqlite", "--store nonsense",
  ])
  func `the short parser reads a service's command line like the argument parser`(line: String)
    throws
  {
    let words = line.split(separator: " ").map(String.init)
    let launch = try #require(Launch(words))
    #expect(try launch == Widgetd.parse(words).launch)
  }

  @Test(arguments: [
    "--help", "--version", "--print-limits", "--limit widgets_max=5", "--clock fake", "--socket",
    "--socket --store", "--socket=/tmp/s", "--store memory --store sqlite", "--config a --config b",
    "completion bash", "--soket /tmp/s", "--store memory more",
  ])
  func `an unusual command line is left to the argument parser`(line: String) {
    #expect(Launch(line.split(separator: " ").map(String.init)) == nil)
  }
}
