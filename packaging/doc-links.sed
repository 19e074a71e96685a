# What documentation links to in the source tree, where packages have it: for usr/share/doc/PACKAGE.
s|](\.\./Protos|](Protos|g
s|\[Clients/bundles\](\.\./Clients/bundles)|[Examples](../widgetd-host/examples/bundles)|g
s|](\.\./README\.md[^)]*)|](service.md)|g
s|](\.\./\.\./README\.md)|](../widgetd/service.md)|g
s|](\.\./\.\./docs/|](../widgetd/|g
s|](widgetclient\.h)|](../../../include/widgetclient/widgetclient.h)|g
