"""The protobuf messages of widgetd.v1, for `Client.call` and for full control.

The types in `widgetd` itself are easier to use: they hold plain Python values.
"""

from ._proto.v1.activity_pb2 import *  # noqa: F403
from ._proto.v1.activity_service_pb2 import *  # noqa: F403
from ._proto.v1.admin_service_pb2 import *  # noqa: F403
from ._proto.v1.blob_service_pb2 import *  # noqa: F403
from ._proto.v1.catalog_service_pb2 import *  # noqa: F403
from ._proto.v1.event_pb2 import *  # noqa: F403
from ._proto.v1.kind_pb2 import *  # noqa: F403
from ._proto.v1.node_pb2 import *  # noqa: F403
from ._proto.v1.provider_service_pb2 import *  # noqa: F403
from ._proto.v1.theme_pb2 import *  # noqa: F403
from ._proto.v1.timeline_pb2 import *  # noqa: F403
from ._proto.v1.timeline_service_pb2 import *  # noqa: F403
from ._proto.v1.value_pb2 import *  # noqa: F403
from ._proto.v1.widget_pb2 import *  # noqa: F403
from ._proto.v1.widget_service_pb2 import *  # noqa: F403
