// The methods that the load generator calls, by the number that stands in its records.
#pragma once

enum grpc_method {
  methodCreate = 1,
  methodGet,
  methodUpdate,
  methodWatch,
};
