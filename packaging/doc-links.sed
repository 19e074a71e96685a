# Changes pages of the source tree for a package. It removes the lines for tests. Links lead to the
# files of the packages, as seen from usr/share/doc/PACKAGE.
/^<!-- test:.*-->$/d
s|](\.\./Protos|](Protos|g
s| The \[gallery\](gallery\.md) has pictures of the bundles\.||
s|\[Clients/bundles\](\.\./Clients/bundles)|[Examples](../widgetd-host/examples/bundles)|g
s|\[Clients/bars\](\.\./Clients/bars)|[Examples](../widgetctl/examples/bars)|g
s|](\.\./README\.md[^)]*)|](service.md)|g
s|](\.\./\.\./README\.md[^)]*)|](../widgetd/service.md)|g
s|](\.\./\.\./docs/|](../widgetd/|g
s|](widgetclient\.h)|](../../../include/widgetclient/widgetclient.h)|g
