/** A failure with a status and a text for the client. Any other error is answered 500 without its details. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  /** The property that fastify reads. */
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}
