#include "comm/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {

int free_port() {
  const int socket_fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;  // port 0: any free one
  socklen_t length = sizeof(address);
  const bool bound = socket_fd >= 0 &&
                     ::bind(socket_fd, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     ::getsockname(socket_fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  const int error = errno;
  if (socket_fd >= 0) ::close(socket_fd);
  if (!bound) {
    throw ConfigError(cat("[comm/free_port] expected a free TCP port, got: ", std::strerror(error),
                          "; see whether this host allows sockets"));
  }
  return ntohs(address.sin_port);
}

}  // namespace cadenza
