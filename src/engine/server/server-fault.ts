/** An inference server did not do as it was asked. The message names no address: clients may see it. */
export class ServerFault extends Error {
  override readonly name = 'ServerFault';
}
