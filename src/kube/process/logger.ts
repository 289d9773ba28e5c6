import { type DestinationStream, type LogFn, type Logger, pino } from "pino";
import { type Clock, systemClock } from "../clock.ts";
import { shortText } from "../short-text.ts";
import { LineRates } from "./line-rates.ts";

/** Fields that are redacted, at the top of an entry or one level below, and the content of Secrets. */
const SECRET_FIELDS = ["token", "password", "authorization", "clientKeyData", "stringData"];
const REDACTED = [...SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), "*.headers.authorization", "secret.data"];

/** Who wants to see what is below sees all of it, and the last line of a process is never left out. */
const LIMITED = { from: pino.levels.values.info ?? 0, to: pino.levels.values.error ?? 0 };

/** Of each text in a line, and of each list or object as JSON. Errors repeat what servers answer, and refusals what strangers write. */
const MAX_CHARS = 4_096;

/**
 * JSON lines on stdout: level as a word, time as RFC 3339, errors under `err`. Of lines that come too often, a later one says
 * under `leftOut` how many there were.
 */
export function createLogger(options: {
  name: string;
  level?: string | undefined;
  destination?: DestinationStream;
  clock?: Clock;
}): Logger {
  const { clock = systemClock } = options;
  const rates = new LineRates();
  const settings = {
    name: options.name,
    level: options.level || "info",
    base: { name: options.name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: shortened },
    serializers: { err: (error: Error) => shortened(pino.stdSerializers.err(error)) },
    hooks: {
      logMethod(args: Parameters<LogFn>, method: LogFn, level: number): void {
        const texts = args.map((arg) => (typeof arg === "string" ? short(arg) : arg));
        const sentence = String(texts.find((text) => typeof text === "string") ?? "");
        const isLimited = level >= LIMITED.from && level <= LIMITED.to;
        const leftOut = isLimited ? rates.leftOutBefore(sentence, clock.monotonicMs()) : 0;
        if (leftOut === undefined) return;
        const [fields, ...rest] = typeof texts[0] === "object" ? texts : [{}, ...texts];
        const line = leftOut === 0 ? texts : [Object.assign({ leftOut }, fields), ...rest];
        method.apply(this, line as Parameters<LogFn>);
      },
    },
    redact: { paths: REDACTED, censor: "[redacted]" },
  };
  // Synchronous: the last line before an exit must not be lost.
  return pino(settings, options.destination ?? pino.destination({ dest: 1, sync: true }));
}

const short = (text: string): string => (text.length > MAX_CHARS ? shortText(text, MAX_CHARS) : text);

/** The fields of a line, with values that somebody can read. */
function shortened<T extends object>(fields: T): T {
  const entries = Object.entries(fields).map(([key, value]) => [key, shortValue(value)]);
  return Object.fromEntries(entries) as T;
}

function shortValue(value: unknown): unknown {
  if (typeof value === "string") return short(value);
  if (typeof value !== "object" || value === null || value instanceof Error) return value;
  try {
    const text = JSON.stringify(value);
    return text.length > MAX_CHARS ? short(text) : value;
  } catch {
    return value;
  }
}
