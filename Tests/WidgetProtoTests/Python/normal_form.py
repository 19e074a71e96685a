"""Messages without the differences that the Swift side makes on purpose.

The docs beside the Swift types have the reasons: Swift drops unknown fields, reads an absent field as its
default, and sorts read masks.
"""


def normalise(schema, message):
    message.DiscardUnknownFields()
    for descriptor, value in list(message.ListFields()):
        if descriptor.message_type is None:
            continue
        if descriptor.message_type.GetOptions().map_entry:
            if descriptor.message_type.fields_by_name["value"].message_type:
                for key in value:
                    normalise(schema, value[key])
        elif descriptor.is_repeated:
            for element in value:
                normalise(schema, element)
        else:
            normalise(schema, value)
    name = message.DESCRIPTOR.name
    if name == "Value" and message.WhichOneof("kind") is None:
        message.null_value = 0
    if name == "Value" and message.WhichOneof("kind") == "null_value":
        message.null_value = 0
    if name == "Kind":
        message.persistence = message.persistence or 1
    if name == "Timeline":
        message.policy = message.policy or 1
    if name in ("Preview", "SnapshotRequest"):
        message.family = known(message.family, 7, 2)
    if name == "Schedule" and not message.offset.ListFields():
        message.ClearField("offset")
    if name == "WidgetUpdated" and message.HasField("timeline"):
        message.timeline_cleared = False
    if name == "StoredWidget":
        message.widget.ClearField("timeline")
        if message.HasField("timeline"):
            message.timeline_set_time.SetInParent()
        else:
            message.ClearField("timeline_set_time")
            message.ClearField("timeline_asides")
    if name == "StoredFailure":
        message.since.SetInParent()
    if name == "Activity":
        message.start_time.SetInParent()
        message.expire_time.SetInParent()
        message.state = known(message.state, 3, 2 if message.HasField("end_time") else 1)
    if name in ("UpdateActivityRequest", "EndActivityRequest"):
        message.patch.SetInParent()
    if name == "EndActivityRequest":
        message.dismissal = message.dismissal or 1
    if name == "SetTimeResponse":
        message.time.SetInParent()
    if name in ("GetThemeResponse", "UpdateThemeResponse"):
        message.theme.SetInParent()
    if name == "ThemeColors":
        message.dark = message.dark or message.light
        message.high_contrast = message.high_contrast or message.light
    if name == "ThemeFont":
        message.weight = message.weight or 1
    if name == "RowTemplate":
        message.name = message.name or "item"
    if name == "Presence":
        message.state = 2 if not message.visible else 1 if message.enabled else 3
    if name == "Widget":
        message.family = known(message.family, 7, 2)
        # Written only for a read mask that names them.
        message.ClearField("owners")
        message.ClearField("stored_timeline")
    if name == "Widget":
        if not message.HasField("presence"):
            message.presence.visible = message.presence.enabled = True
            message.presence.state = 1
        message.create_time.SetInParent()
        message.update_time.SetInParent()
        if not message.error.reason:
            message.ClearField("error")
    if name == "Transition":
        message.curve = known(message.curve, 7, 0)
    if name == "Field":
        message.type = message.type or "dyn"
    if name == "Kind" and message.revision:
        message.update_time.SetInParent()
    elif name == "Kind":
        message.ClearField("update_time")
    if name in ("ApplyKindsRequest", "ProvideKinds", "RollbackBundleResponse"):
        # What only the daemon sets is passed over.
        for kind in message.kinds:
            for field in ("provider", "revision", "owner_uid", "update_time", "attended",
                          "provider_connected", "refresh_budget", "provider_silence"):
                kind.ClearField(field)
    if name in ("ApplyResult", "KindResult"):
        message.action = known(message.action, 4, 0)
    if name == "SetLogLevelResponse":
        message.previous = known(message.previous, 7, 0)
    if name == "HealthCheckResponse":
        message.status = known(message.status, 3, 0)
    if name in ("WidgetPatch", "WidgetUpdated") and not message.error.reason:
        for field in ("message", "since", "further") if message.HasField("error") else ():
            message.error.ClearField(field)
    if name == "Event":
        message.origin.SetInParent()
        message.time.SetInParent()
    if name == "GetStatsResponse":
        message.start_time.SetInParent()
        message.uptime.SetInParent()
    if name == "ProvideOpened":
        message.lease.SetInParent()
    if name == "DataRequest":
        message.reason = known(message.reason, 5, 0)
    if name == "WidgetError":
        for further in message.further:
            further.ClearField("further")
    if name == "RecentError":
        message.time.SetInParent()
    if name in ("StoreFailure", "ProviderSilence"):
        message.since.SetInParent()
    if name in ("RecentError", "ProvideError"):
        message.code = message.code if 0 <= message.code <= 16 else 2
    if name == "RetryInfo":
        message.retry_delay.SetInParent()
    # Only responses carry an etag.
    if name in ("StoredWidget", "WidgetAdded", "DataRequest") and message.HasField("widget"):
        message.widget.ClearField("etag")
    if name == "SnapshotChunk":
        for widget in message.widgets:
            widget.ClearField("etag")
    if name == "StoredWidget":
        message.widget.ClearField("data")
        message.widget.ClearField("parameters")
        if not message.has_owners:
            message.ClearField("owners")
    if name in ("ListWidgetsRequest", "WatchWidgetsRequest", "WatchEventsRequest"):
        if message.HasField("selector") and not message.selector.ListFields():
            message.ClearField("selector")
    if name in ("UpdateWidgetRequest", "ProvidedUpdate"):
        message.patch.SetInParent()
    if "read_mask" in message.DESCRIPTOR.fields_by_name:
        paths = set(message.read_mask.paths)
        kept = paths - {"id", "kind", "revision", "created_revision"}
        message.ClearField("read_mask")
        if paths:
            message.read_mask.paths.extend(sorted(kept) or ["id"])
    if name == "Status":
        details = {}
        for any_ in message.details:
            detail = schema.new(any_.type_url.split("/")[-1])
            detail.ParseFromString(any_.value)
            normalise(schema, detail)
            if detail.DESCRIPTOR.name != "BadRequest" or detail.field_violations:
                details[detail.DESCRIPTOR.name] = detail
        message.ClearField("details")
        for name in sorted(details):
            any_ = message.details.add()
            any_.type_url = "type.googleapis.com/google.rpc." + name
            any_.value = details[name].SerializeToString(deterministic=True)


def known(number, highest, fallback):
    return number if 1 <= number <= highest else fallback
