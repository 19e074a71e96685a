extension FunctionTable { mutating func addMath() {} }
