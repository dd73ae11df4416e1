/** An inference server did not do as it was asked. The message names no address: clients may see it. */
export class ServerFault extends Error {
  override readonly name: string = 'ServerFault';
}

/** The server answered that the request cannot be served as it is: a client's fault by its status. */
export class Refusal extends ServerFault {}

/** The server has lost the keys and values of a sequence that was begun there: restarted, evicted, or idle too long. */
export class LostSequence extends ServerFault {
  override readonly name = 'LostSequence';
}
