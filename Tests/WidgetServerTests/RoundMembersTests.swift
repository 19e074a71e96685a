import SeededRandom
import Testing

@testable import WidgetServer

/// The lists that rounds go through, while members come and go.
@Suite struct `Members of rounds` {
  private final class Member: RoundMember {
    let number: Int
    var place = 0
    var isCurrent = false

    init(_ number: Int) { self.number = number }
  }

  @Test(arguments: Seeds.all)
  func `a round visits each member that stays current once, whatever changes meanwhile`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    var list = RoundMembers<Member>()
    var members: [Member] = []
    var count = 0
    for _ in 0..<200 {
      list.beginRound()
      var due = Set(members.filter(\.isCurrent).map(\.number))
      var visited: Set<Int> = []
      while let member = list.next() {
        let isFirstVisit = visited.insert(member.number).inserted
        #expect(isFirstVisit && due.contains(member.number))
        for _ in 0..<Int.random(in: 0...3, using: &random) {
          let other = members.randomElement(using: &random) ?? member
          switch Int.random(in: 0..<4, using: &random) {
          case 0:
            let new = Member(count)
            count += 1
            members.append(new)
            list.add(new)
          case 1:
            members.removeAll { $0 === other }
            list.remove(other)
            due.remove(other.number)
          case 2:
            other.isCurrent = true
            list.makeCurrent(other)
          default:
            other.isCurrent = false
            list.endCurrent(other)
            due.remove(other.number)
          }
        }
      }
      #expect(due.isSubset(of: visited), "seed \(seed)")
      while members.count < 20 {
        let new = Member(count)
        count += 1
        members.append(new)
        list.add(new)
      }
      for member in members where Bool.random(using: &random) {
        member.isCurrent = true
        list.makeCurrent(member)
      }
      #expect(list.all.count == members.count)
      #expect(list.currentCount == members.count { $0.isCurrent })
      #expect(list.all.enumerated().allSatisfy { $0.offset == $0.element.place })
      #expect(list.others.allSatisfy { !$0.isCurrent })
    }
  }
}
