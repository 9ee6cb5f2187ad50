#pragma once

namespace cadenza {

/// A TCP port of this host on which nobody listens now: where ranks that are started together meet.
/// Somebody else may take it before they do; that is then an error that names the port.
int free_port();

}  // namespace cadenza
