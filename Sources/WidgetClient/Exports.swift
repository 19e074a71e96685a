/// Who imports the client also sees the messages it sends and the domain types they are made of.
@_exported public import WidgetModel
@_exported public import WidgetProto
