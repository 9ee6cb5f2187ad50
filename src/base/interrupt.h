#pragma once

namespace cadenza {

/// Makes SIGINT and SIGTERM set a flag instead of ending the process; a second SIGINT ends it at
/// once.
void install_interrupt_handler();

/// True once the user asked to stop.
bool interrupt_requested();

/// Throws Interrupted once the user asked to stop. Every wait calls it between short sleeps.
void throw_if_interrupted();

}  // namespace cadenza
