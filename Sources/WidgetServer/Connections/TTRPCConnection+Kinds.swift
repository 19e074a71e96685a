import NIOCore

/// The messages that declare kinds. They wait until the connection has compiled the kinds.
extension TTRPCConnection {
  /// Carries out a message of an open stream.
  func receiveMessage(_ data: ByteBuffer, isLast: Bool, on streamID: UInt32) {
    guard let stream = sinks[streamID]?.stream else { return }
    let carryOut = {
      stream.receive(data)
      if isLast { stream.halfClosed() }
    }
    guard let kinds = service.preparations.preparation(ofFrame: data, of: peer) else {
      return carryOut()
    }
    let isNeeded = { [self] in sinks[streamID]?.stream === stream }
    prepare(kinds, isNeeded: isNeeded) { if isNeeded() { carryOut() } }
  }

  /// Compiles kinds in the next slices, and then carries the message out. If its user has no room for
  /// the kinds, the message is carried out now, so that it keeps no memory.
  func prepare(
    _ kinds: KindPreparation, isNeeded: @escaping () -> Bool, then carryOut: @escaping () -> Void
  ) {
    guard !kinds.isRefused else { return kinds.carryOut(carryOut) }
    kinds.isNeeded = isNeeded
    // The frames of all sessions of the connection wait.
    kinds.onWait = { [self] in for sink in sinks.values { sink.stream?.messagesWait() } }
    preparing = (kinds, carryOut)
  }

  /// Carries out the message that waits for its kinds. The store compiles those that are missing.
  func endPreparation() {
    guard let (kinds, carryOut) = preparing else { return }
    preparing = nil
    kinds.carryOut(carryOut)
  }
}
