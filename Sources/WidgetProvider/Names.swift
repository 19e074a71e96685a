// The values that widgets are made of (`Family`, `ContentTemplate`, `WidgetSpec`, …), so that authors need to
// import nothing else.
@_exported public import WidgetModel
