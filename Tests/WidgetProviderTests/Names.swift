import WidgetModel

/// The wire's widget, beside the protocol of the same name.
typealias WidgetModelWidget = WidgetModel.Widget
