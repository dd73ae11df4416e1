/** Loaded into a gateway that is measured (`node --import`): nobody measures any more where the benchmark was killed. */
process.once('disconnect', () => process.exit());
process.channel?.unref();
