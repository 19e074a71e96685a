#if GRPC
  import GRPCCore
  struct ReflectionService: RegistrableRPCService {
    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {}
  }
#endif
