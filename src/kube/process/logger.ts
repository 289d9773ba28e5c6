import { type DestinationStream, type LogFn, type Logger, pino } from "pino";
import { shortText } from "../short-text.ts";

/** Fields that are redacted, at the top of an entry or one level below, and the content of Secrets. */
const SECRET_FIELDS = ["token", "password", "authorization", "clientKeyData", "stringData"];
const REDACTED = [...SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), "*.headers.authorization", "secret.data"];

/** Of each text in a line. Errors repeat what servers answer, and refusals what strangers write. */
const MAX_CHARS = 4_096;

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
    formatters: { level: (label: string) => ({ level: label }), log: shortened },
    serializers: { err: (error: Error) => shortened(pino.stdSerializers.err(error)) },
    hooks: {
      logMethod(args: Parameters<LogFn>, method: LogFn): void {
        method.apply(this, args.map((arg) => (typeof arg === "string" ? short(arg) : arg)) as Parameters<LogFn>);
      },
    },
    redact: { paths: REDACTED, censor: "[redacted]" },
  };
  // Synchronous: the last line before an exit must not be lost.
  return pino(settings, options.destination ?? pino.destination({ dest: 1, sync: true }));
}

const short = (text: string): string => (text.length > MAX_CHARS ? shortText(text, MAX_CHARS) : text);

/** The fields of a line, with texts that somebody can read. */
function shortened<T extends object>(fields: T): T {
  const isLong = (value: unknown): value is string => typeof value === "string" && value.length > MAX_CHARS;
  if (!Object.values(fields).some(isLong)) return fields;
  const entries = Object.entries(fields).map(([key, value]) => [key, isLong(value) ? short(value) : value]);
  return Object.fromEntries(entries) as T;
}
