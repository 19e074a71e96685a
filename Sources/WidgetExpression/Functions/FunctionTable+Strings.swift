extension FunctionTable { mutating func addStrings() {} }
