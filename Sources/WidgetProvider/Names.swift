// The values that widgets are made of (`Family`, `ContentTemplate`, `WidgetSpec`, …), so that authors need to
// import nothing else. Their `Widget`, the wire's, stands behind this module's protocol of that name; where
// `WidgetModel` or `WidgetClient` is imported too, the protocol is `WidgetProvider.Widget`.
@_exported public import WidgetModel
