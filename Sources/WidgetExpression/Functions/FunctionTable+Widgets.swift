extension FunctionTable { mutating func addWidgetFunctions() {} }
