import WidgetModel
package import WidgetProto

/// Code for any type of message.
package protocol MessageVisitor {
  func visit<M: WireMessage>(_ type: M.Type)
}

/// One message type of the schema, with its Swift type erased.
package struct MessageType: Sendable, CustomStringConvertible {
  package let name: String
  package let schema: @Sendable () -> WireSchema
  /// Decodes and encodes again.
  package let recode: @Sendable (WireCodec, [UInt8]) throws(WireError) -> [UInt8]
  /// Shows the Swift type to a visitor.
  package let accept: @Sendable (any MessageVisitor) -> Void

  package init<M: WireMessage>(_ type: M.Type) {
    name = M.schema.name
    schema = { M.schema }
    recode = { (codec, bytes) throws(WireError) in
      try codec.encode(try codec.decode(type, from: bytes))
    }
    accept = { visitor in visitor.visit(type) }
  }

  package var description: String { name }

  /// Every type that a codec accepts.
  package static let all: [MessageType] = [
    MessageType(Value.self), MessageType(ListValue.self), MessageType(ValueMap.self),
    MessageType(TaggedWidget.self), MessageType(Presence.self), MessageType(WidgetError.self),
    MessageType(Transition.self), MessageType(Labels.self), MessageType(Selector.self),
    MessageType(LabelRequirement.self), MessageType(Event.self), MessageType(EventOrigin.self),
    MessageType(EventBatch.self), MessageType(EventGap.self), MessageType(WidgetSpec.self),
    MessageType(WidgetPatch.self), MessageType(CreateWidgetRequest.self),
    MessageType(CreateWidgetResponse.self), MessageType(RequestWarning.self),
    MessageType(GetWidgetRequest.self),
    MessageType(GetWidgetResponse.self), MessageType(ListWidgetsRequest.self),
    MessageType(ListWidgetsResponse.self), MessageType(UpdateWidgetRequest.self),
    MessageType(UpdateWidgetResponse.self), MessageType(DeleteWidgetRequest.self),
    MessageType(DeleteWidgetResponse.self), MessageType(SetPresenceRequest.self),
    MessageType(SetPresenceResponse.self), MessageType(MoveWidgetRequest.self),
    MessageType(MoveWidgetResponse.self), MessageType(ApplyWidgetsRequest.self),
    MessageType(ApplyResult.self), MessageType(FieldOwner.self),
    MessageType(ApplyWidgetsResponse.self),
    MessageType(RegisteredKind.self), MessageType(Field.self), MessageType(EventType.self),
    MessageType(Reducer.self), MessageType(ContentTemplate.self), MessageType(NodeTemplate.self),
    MessageType(Binding.self), MessageType(RowTemplate.self), MessageType(Content.self),
    MessageType(Node.self), MessageType(ListedEvents.self), MessageType(ContentChange.self),
    MessageType(ApplyKindsRequest.self), MessageType(KindResult.self),
    MessageType(LostField.self),
    MessageType(ApplyKindsResponse.self), MessageType(GetKindRequest.self),
    MessageType(GetKindResponse.self), MessageType(ListKindsRequest.self),
    MessageType(ListKindsResponse.self), MessageType(DeleteKindRequest.self),
    MessageType(DeleteKindResponse.self),
    MessageType(ThemeState.self), MessageType(ThemeValue.self), MessageType(ThemeColors.self),
    MessageType(ThemeFont.self), MessageType(GetThemeRequest.self),
    MessageType(GetThemeResponse.self), MessageType(UpdateThemeRequest.self),
    MessageType(UpdateThemeResponse.self),
    MessageType(UploadBlobRequest.self), MessageType(UploadBlobResponse.self),
    MessageType(ReadBlobRequest.self), MessageType(ReadBlobResponse.self),
    MessageType(DeleteBlobRequest.self), MessageType(DeleteBlobResponse.self),
    MessageType(SendEventRequest.self), MessageType(SendEventResponse.self),
    MessageType(TimelineEntry.self), MessageType(Timeline.self), MessageType(TimelineStatus.self),
    MessageType(EntrySchedule.self), MessageType(Recommendation.self),
    MessageType(RefreshBudget.self), MessageType(Preview.self), MessageType(ShownEntry.self),
    MessageType(WatchUpcoming.self), MessageType(UpcomingEntries.self),
    MessageType(WatchStore.self), MessageType(StoreFailure.self),
    MessageType(ProviderSilence.self),
    MessageType(GetTimelineRequest.self), MessageType(GetTimelineResponse.self),
    MessageType(GetPlaceholderRequest.self), MessageType(GetPlaceholderResponse.self),
    MessageType(GetSnapshotRequest.self), MessageType(GetSnapshotResponse.self),
    MessageType(SnapshotRequest.self), MessageType(ProvideSnapshot.self),
    MessageType(SnapshotData.self), MessageType(SetTimeRequest.self),
    MessageType(SetTimeResponse.self),
    MessageType(Activity.self), MessageType(StatePatch.self),
    MessageType(StartActivityRequest.self), MessageType(StartActivityResponse.self),
    MessageType(UpdateActivityRequest.self), MessageType(UpdateActivityResponse.self),
    MessageType(EndActivityRequest.self), MessageType(EndActivityResponse.self),
    MessageType(RefreshWidgetsRequest.self), MessageType(RefreshWidgetsResponse.self),
    MessageType(ProvideRequest.self), MessageType(ProvideOpen.self),
    MessageType(ProvideKinds.self), MessageType(ProvideUpdate.self),
    MessageType(ProvidedUpdate.self), MessageType(ProvideAcknowledge.self),
    MessageType(ProvideAnswer.self), MessageType(ProvideKeepAlive.self),
    MessageType(ProvideResponse.self), MessageType(ProvideOpened.self),
    MessageType(ProvideResult.self), MessageType(ProvideError.self),
    MessageType(DataRequest.self), MessageType(ProvidedRemoval.self),
    MessageType(ProvidedKindRemoval.self), MessageType(InstalledBundle.self),
    MessageType(InstallBundleRequest.self), MessageType(InstallBundleResponse.self),
    MessageType(ListBundlesRequest.self), MessageType(ListBundlesResponse.self),
    MessageType(DeleteBundleRequest.self), MessageType(DeleteBundleResponse.self),
    MessageType(RollbackBundleRequest.self), MessageType(RollbackBundleResponse.self),
    MessageType(BundleSetting.self), MessageType(SetBundleDefaultsRequest.self),
    MessageType(SetBundleDefaultsResponse.self), MessageType(DiffBundleRequest.self),
    MessageType(DiffBundleResponse.self), MessageType(DiffBundleResponse.Difference.self),
    MessageType(ProvideBundleRequest.self), MessageType(ProvideBundleAnswer.self),
    MessageType(ProvideSynced.self), MessageType(ProvideAudience.self),
    MessageType(WatchWidgetsRequest.self), MessageType(WatchWidgetsResponse.self),
    MessageType(WatchOpened.self), MessageType(SnapshotChunk.self), MessageType(WatchSynced.self),
    MessageType(ChangeSet.self), MessageType(WidgetUpdate.self), MessageType(WatchProgress.self),
    MessageType(WatchEventsRequest.self), MessageType(WatchEventsResponse.self),
    MessageType(WatchEventsOpened.self), MessageType(UnsubscribeRequest.self),
    MessageType(UnsubscribeResponse.self), MessageType(RequestProgressRequest.self),
    MessageType(RequestProgressResponse.self), MessageType(GetStatsRequest.self),
    MessageType(GetStatsResponse.self), MessageType(RecentError.self),
    MessageType(ReloadRequest.self),
    MessageType(ReloadResponse.self), MessageType(SetLogLevelRequest.self),
    MessageType(SetLogLevelResponse.self), MessageType(StoredWidget.self),
    MessageType(Handover.self), MessageType(HandedConnection.self),
    MessageType(HandedStream.self), MessageType(HandedTransfer.self),
    MessageType(StoredEntry.self), MessageType(StoredFailure.self),
    MessageType(StoredTombstone.self), MessageType(RPCStatus.self),
    MessageType(ErrorInfo.self), MessageType(RetryInfo.self), MessageType(BadRequest.self),
    MessageType(FieldViolation.self), MessageType(HealthCheckRequest.self),
    MessageType(HealthCheckResponse.self), MessageType(HealthListRequest.self),
    MessageType(HealthListResponse.self), MessageType(ReflectionRequest.self),
    MessageType(ReflectionExtension.self), MessageType(ReflectionResponse.self),
    MessageType(TTRPCRequest.self),
    MessageType(TTRPCResponse.self), MessageType(MetadataEntry.self),
  ]

  package static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

  /// Messages that exist only inside others: they are cases of `WidgetChange` and of
  /// `ReflectionResponse.Answer`.
  package static let onlyInside: Set<String> = [
    "widgetd.v1.WidgetChange", "widgetd.v1.WidgetAdded", "widgetd.v1.WidgetRemoved",
    "grpc.reflection.v1.FileDescriptorResponse", "grpc.reflection.v1.ExtensionNumberResponse",
    "grpc.reflection.v1.ListServiceResponse", "grpc.reflection.v1.ServiceResponse",
    "grpc.reflection.v1.ErrorResponse",
  ]
}
