interface Versioned {
  readonly resourceVersion?: string | undefined;
}

/**
 * Whether one version was written before the other: versions of one resource in one API server are numbers that grow.
 * False where they are not numbers, or missing.
 */
export function isOlder({ resourceVersion: one = "" }: Versioned, { resourceVersion: other = "" }: Versioned): boolean {
  if (!isNumber(one) || !isNumber(other)) {
    return false;
  }
  return one.length === other.length ? one < other : one.length < other.length;
}

function isNumber(version: string): boolean {
  return /^[1-9]\d*$/.test(version);
}
