import { type DestinationStream, type Logger, pino } from "pino";

/** Fields that are redacted, at the top of an entry or one level below, and the content of Secrets. */
const SECRET_FIELDS = ["token", "password", "authorization", "clientKeyData", "stringData"];
const REDACTED = [...SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), "*.headers.authorization", "secret.data"];

/** JSON lines on stdout: level as a word, time as RFC 3339, errors under `err`. */
export function createLogger(options: {
  name: string;
  level?: string | undefined;
  destination?: DestinationStream;
}): Logger {
  const settings = {
    name: options.name,
    level: options.level || "info",
    base: { name: options.name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED, censor: "[redacted]" },
  };
  // Synchronous: the last line before an exit must not be lost.
  return pino(settings, options.destination ?? pino.destination({ dest: 1, sync: true }));
}
