/**
 * The results of `count` calls, so many of them under way at any time. Enough for them to meet each other; all of them at
 * once would take longer than a webhook may on a busy machine, which says nothing about the pool.
 */
export async function inFlight<T>(limit: number, count: number, call: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) results[index] = await call(index);
  };
  await Promise.all(Array.from({ length: limit }, work));
  return results;
}
