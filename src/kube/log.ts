/** The part of a pino logger that `src/kube` uses; any pino `Logger` is one. */
export interface Log {
  debug: LogMethod;
  info: LogMethod;
  warn: LogMethod;
  error: LogMethod;
  child(fields: Record<string, unknown>): Log;
}

/** Fields first, then the sentence; or the sentence alone. An error goes into the field `err`. */
interface LogMethod {
  (fields: object, message?: string): void;
  (message: string): void;
}

export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLog,
};
