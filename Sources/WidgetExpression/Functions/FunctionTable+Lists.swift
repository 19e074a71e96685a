extension FunctionTable { mutating func addLists() {} }
