/// A module that imports the client also gets its messages and their domain types.
@_exported public import WidgetModel
@_exported public import WidgetProto
