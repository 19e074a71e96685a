#if GRPC
  import Glibc

  /// The two ends of a pipe, closed on exec. Their taker closes them.
  struct SystemPipe {
    let reading: CInt
    let writing: CInt

    /// The system gave no pipe: too many open files.
    struct Failure: Error, CustomStringConvertible {
      let number: CInt
      var description: String { "cannot make a pipe: \(String(cString: strerror(number)))" }
    }

    init() throws(Failure) {
      var ends: [CInt] = [-1, -1]
      guard pipe(&ends) == 0 else { throw Failure(number: errno) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      (reading, writing) = (ends[0], ends[1])
    }
  }
#endif
