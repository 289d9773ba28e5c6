import type * as z from "zod";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Configuration from environment variables, checked by a schema (`z.object({PORT: z.coerce.number()})`). Throws one
 * sentence that names every wrong variable. It does not load zod.
 */
export function readEnv<S extends z.ZodType>(schema: S, env: Environment): z.output<S> {
  const result = schema.safeParse(env);
  if (result.success) {
    return result.data;
  }
  const faults = result.error.issues.map((issue) => {
    const name = issue.path.join(".");
    const value = env[name];
    return value === undefined ? `${name} is not set` : `${name}="${value}": ${issue.message}`;
  });
  throw new Error(`Wrong environment: ${faults.join("; ")}.`);
}

/** A TCP port; `undefined` when the variable is not set. */
export function readPort(env: Environment, name: string): number | undefined {
  const text = env[name];
  if (text === undefined || text === "") {
    return undefined;
  }
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new Error(`Wrong environment: ${name}="${text}" is not a port (0-65535).`);
  }
  return port;
}

/** A variable that must be set. */
export function requireEnv(env: Environment, name: string): string {
  const value = env[name];
  if (!value) {
    throw new Error(`Wrong environment: ${name} is not set.`);
  }
  return value;
}
