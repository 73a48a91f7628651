// A channel of gRPC C++ with its xDS. For each line of the input, it makes a call, and prints "ok" and
// the name of the backend, or "error" and the reason.
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

namespace {

std::string Call(grpc::GenericStub& stub) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  grpc::ByteBuffer request(nullptr, 0), reply;
  grpc::Status status;
  auto call = stub.PrepareUnaryCall(&context, "/xdsforge.Peer/Who", request, &queue);
  call->StartCall();
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) return "error " + status.error_message();
  std::vector<grpc::Slice> slices;
  if (!reply.Dump(&slices).ok()) return "error cannot read the reply";
  std::string bytes;
  for (const auto& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return "ok " + bytes.substr(2);  // a StringValue of one byte of length
}

}  // namespace

int main(int, char** argv) {
  grpc::GenericStub stub(grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  for (std::string line; std::getline(std::cin, line);) std::cout << Call(stub) << std::endl;
}
