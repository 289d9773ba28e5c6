/** What ping.ts prints. */
export interface PingResult {
  readonly sent: number;
  readonly received: number;
  /** Fastest round trip; null when nothing came back. */
  readonly fastestMs: number | null;
}

export const parsePingResult = (text: string): PingResult => JSON.parse(text) as PingResult;
