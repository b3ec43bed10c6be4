//===- Socket.cpp - stream sockets between processes ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All sockets are close-on-exec and do not block; who waits polls, with a deadline.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/Socket.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace tgpt::runtime;

static constexpr int backlog = 1024;
static constexpr auto retryPause = std::chrono::milliseconds(20);

Deadline tgpt::runtime::inSeconds(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

int tgpt::runtime::pollMilliseconds(Deadline deadline) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

void Socket::close() {
  if (descriptor >= 0)
    ::close(std::exchange(descriptor, -1));
}

static bool awaitReady(int descriptor, short events, Deadline deadline) {
  while (true) {
    pollfd entry{descriptor, events, 0};
    int ready = ::poll(&entry, 1, pollMilliseconds(deadline));
    if (ready > 0)
      return true;
    if ((ready < 0 && errno != EINTR) || std::chrono::steady_clock::now() >= deadline)
      return false;
  }
}

static void sendWithoutDelay(int descriptor) {
  int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

Socket tgpt::runtime::listenOnPort(uint16_t port) {
  Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(port);
  if (!listener || ::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0 ||
      ::listen(listener.get(), backlog) != 0)
    throw Error("cannot listen on port " + std::to_string(port) + ": " + std::strerror(errno));
  return listener;
}

uint16_t tgpt::runtime::portOf(const Socket &listener) {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &length);
  return ntohs(address.sin_port);
}

/// One try; an empty socket and errno where it fails.
static Socket tryConnect(int family, const sockaddr *address, socklen_t length, Deadline deadline) {
  Socket connection(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection)
    return connection;
  if (::connect(connection.get(), address, length) == 0)
    return connection;
  if (errno != EINPROGRESS && errno != EAGAIN)
    return Socket();
  int error = ETIMEDOUT;
  socklen_t size = sizeof(error);
  if (awaitReady(connection.get(), POLLOUT, deadline))
    ::getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0 ? std::move(connection) : Socket();
}

Socket tgpt::runtime::connectTo(const std::string &host, uint16_t port, Deadline deadline) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  std::string reason;
  do {
    int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (failed == 0) {
      std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, ::freeaddrinfo);
      for (addrinfo *at = found; at; at = at->ai_next)
        if (Socket connection = tryConnect(at->ai_family, at->ai_addr, at->ai_addrlen, deadline)) {
          sendWithoutDelay(connection.get());
          return connection;
        }
      reason = std::strerror(errno);
    } else {
      reason = ::gai_strerror(failed);
      if (failed != EAI_AGAIN)
        break; // no such name, now or later
    }
    std::this_thread::sleep_for(retryPause);
  } while (std::chrono::steady_clock::now() < deadline);
  throw Error("cannot connect to " + host + ":" + std::to_string(port) + ": " + reason);
}

static socklen_t abstractAddress(const std::string &name, sockaddr_un &address) {
  address = {};
  address.sun_family = AF_UNIX;
  size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), length); // a leading 0: a name without a file
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

Socket tgpt::runtime::listenOnName(const std::string &name) {
  sockaddr_un address;
  socklen_t length = abstractAddress(name, address);
  Socket listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener || ::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      ::listen(listener.get(), backlog) != 0)
    throw Error("cannot listen for the processes of this machine: " + std::string(std::strerror(errno)));
  return listener;
}

Socket tgpt::runtime::connectToName(const std::string &name, Deadline deadline) {
  sockaddr_un address;
  socklen_t length = abstractAddress(name, address);
  do {
    if (Socket connection = tryConnect(AF_UNIX, reinterpret_cast<sockaddr *>(&address), length, deadline))
      return connection;
    std::this_thread::sleep_for(retryPause);
  } while (std::chrono::steady_clock::now() < deadline);
  throw Error("cannot reach another process of this machine: " + std::string(std::strerror(errno)));
}

Socket tgpt::runtime::acceptOne(const Socket &listener, Deadline deadline) {
  while (awaitReady(listener.get(), POLLIN, deadline)) {
    Socket connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection) {
      sendWithoutDelay(connection.get()); // fails, and matters nothing, where it is not TCP
      return connection;
    }
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
      throw Error("cannot accept a connection: " + std::string(std::strerror(errno)));
  }
  return Socket();
}

bool tgpt::runtime::sendAll(const Socket &to, const void *bytes, size_t count, Deadline deadline) {
  const char *at = static_cast<const char *>(bytes);
  while (count > 0) {
    ssize_t sent = ::send(to.get(), at, count, MSG_NOSIGNAL);
    if (sent > 0) {
      at += sent;
      count -= sent;
    } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      return false;
    } else if (!awaitReady(to.get(), POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}

bool tgpt::runtime::receiveAll(const Socket &from, void *bytes, size_t count, Deadline deadline) {
  char *at = static_cast<char *>(bytes);
  while (count > 0) {
    ssize_t got = ::recv(from.get(), at, count, 0);
    if (got > 0) {
      at += got;
      count -= got;
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      return false;
    } else if (!awaitReady(from.get(), POLLIN, deadline)) {
      return false;
    }
  }
  return true;
}

namespace {

/// A message of one byte, which the system wants beside a descriptor, and room for the descriptor.
struct DescriptorMessage {
  DescriptorMessage() {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
  DescriptorMessage(const DescriptorMessage &) = delete;

  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

} // namespace

bool tgpt::runtime::sendDescriptor(const Socket &to, int descriptor) {
  DescriptorMessage message;
  cmsghdr *header = CMSG_FIRSTHDR(&message.header);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  return ::sendmsg(to.get(), &message.header, MSG_NOSIGNAL) == 1;
}

int tgpt::runtime::receiveDescriptor(const Socket &from, Deadline deadline) {
  DescriptorMessage message;
  if (!awaitReady(from.get(), POLLIN, deadline) || ::recvmsg(from.get(), &message.header, MSG_CMSG_CLOEXEC) != 1)
    return -1;
  cmsghdr *header = CMSG_FIRSTHDR(&message.header);
  if (!header || header->cmsg_type != SCM_RIGHTS)
    return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  return descriptor;
}

bool tgpt::runtime::isOfThisUser(const Socket &connection) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  return ::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::getuid();
}
