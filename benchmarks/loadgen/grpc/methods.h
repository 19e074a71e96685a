// The methods of the load generator, by their numbers in its records.
#pragma once

enum grpc_method {
  methodCreate = 1,
  methodGet,
  methodUpdate,
  methodWatch,
};
