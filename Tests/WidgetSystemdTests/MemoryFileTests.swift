import Glibc
import Testing

@testable import WidgetSystemd

@Suite struct MemoryFileTests {
  @Test(arguments: [0, 1, 4_095, 4_096, 4_097, 3 << 20])
  func `the bytes of a file are read back, also through a copied descriptor`(count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let file = try MemoryFile(name: "state", bytes: bytes)
    // Twice, and through a copy: the offset is not used.
    let copy = dup(file.descriptor)
    defer { close(copy) }
    #expect(try MemoryFile.bytes(of: file.descriptor, bytesMax: count) == bytes)
    #expect(try MemoryFile.bytes(of: copy, bytesMax: .max) == bytes)
  }

  @Test func `a file larger than bytesMax is refused before reading`() throws {
    let file = try MemoryFile(name: "state", bytes: [1, 2, 3])
    for bytesMax in [2, 0, -1, .min] {
      #expect(
        throws: SystemdError.tooLarge(what: "The memory file", bytes: 3, bytesMax: bytesMax)
      ) { try MemoryFile.bytes(of: file.descriptor, bytesMax: bytesMax) }
    }
  }

  @Test func `a sealed memory file cannot be changed`() throws {
    let file = try MemoryFile(name: "state", bytes: [1, 2, 3])
    var byte: UInt8 = 9
    #expect(pwrite(file.descriptor, &byte, 1, 0) == -1 && errno == EPERM)
    #expect(ftruncate(file.descriptor, 1) == -1 && errno == EPERM)
    #expect(ftruncate(file.descriptor, 10) == -1 && errno == EPERM)
    #expect(fcntl(file.descriptor, Seals.add, 0) == -1 && errno == EPERM)
    #expect(fcntl(file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test func `a regular file and a pipe are refused, because others can change them`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let opened = open(folder.path + "/file", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    defer { close(opened) }
    #expect(throws: SystemdError.notSealed) { try MemoryFile.bytes(of: opened, bytesMax: 10) }
    var ends: [CInt] = [-1, -1]
    #expect(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    #expect(throws: SystemdError.notSealed) { try MemoryFile.bytes(of: ends[0], bytesMax: 10) }
  }

  @Test(arguments: [0, 1, 2, 4, 8, 6, 10, 11, 12] as [CInt])
  func `a file in memory is read only with all of its seals`(seals: CInt) throws {
    let file = try MemoryFile.makeUnsealed(name: "half")
    defer { close(file) }
    if seals != 0 { #expect(fcntl(file, Seals.add, seals) == 0) }
    #expect(throws: SystemdError.notSealed) { try MemoryFile.bytes(of: file, bytesMax: 10) }
  }

  @Test(arguments: [-1, CInt.max])
  func `a descriptor that is not open is not read`(descriptor: CInt) {
    #expect(throws: SystemdError.system(operation: "Reading a memory file", errno: EBADF)) {
      try MemoryFile.bytes(of: descriptor, bytesMax: 10)
    }
  }

  @Test func `a name that is too long or has a NUL is refused`() throws {
    let longest = String(repeating: "n", count: MemoryFile.nameBytesMax)
    _ = try MemoryFile(name: longest, bytes: [])
    for name in [longest + "n", "zero\0"] {
      #expect(throws: SystemdError.self) { _ = try MemoryFile(name: name, bytes: []) }
    }
  }

  @Test func `the descriptor closes with its value, unless it was released`() throws {
    let number: CInt
    do {
      let file = try MemoryFile(name: "a", bytes: [5])
      number = file.release()
    }
    #expect(try MemoryFile.bytes(of: number, bytesMax: 1) == [5])
    close(number)

    // The end of a value closes its descriptor.
    let file = try MemoryFile(name: "b", bytes: [6])
    let identity = inode(file.descriptor)
    let copy = file.descriptor
    _ = consume file
    #expect(inode(copy) != identity)
  }
}
