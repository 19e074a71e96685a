/// A module that imports the client also sees its messages and their domain types.
@_exported public import WidgetModel
@_exported public import WidgetProto
