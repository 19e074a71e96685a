# Makes pages of the source tree those of a package: what tests read goes, and links lead to where
# packages have things, seen from usr/share/doc/PACKAGE.
/^<!-- test:.*-->$/d
s|](\.\./Protos|](Protos|g
s| The \[gallery\](gallery\.md) has pictures of the bundles\.||
s|\[Clients/bundles\](\.\./Clients/bundles)|[Examples](../widgetd-host/examples/bundles)|g
s|\[Clients/bars\](\.\./Clients/bars)|[Examples](../widgetctl/examples/bars)|g
s|](\.\./README\.md[^)]*)|](service.md)|g
s|](\.\./\.\./README\.md[^)]*)|](../widgetd/service.md)|g
s|](\.\./\.\./docs/|](../widgetd/|g
s|](widgetclient\.h)|](../../../include/widgetclient/widgetclient.h)|g
