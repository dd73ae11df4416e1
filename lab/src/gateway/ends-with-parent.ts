/**
 * Module for a gateway that is measured (`node --import`): it ends the gateway if the benchmark was killed.
 */
process.once('disconnect', () => process.exit());
process.channel?.unref();
