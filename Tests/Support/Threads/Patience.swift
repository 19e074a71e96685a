/// The time limit of a wait for something that must happen.
///
/// Only a test that hangs takes so long, however slow the machine is. The limit is shorter than that
/// of `scripts/test`, so the failure names the test.
package enum Patience {
  package static let seconds = 900
  package static let milliseconds = CInt(seconds * 1_000)
}
