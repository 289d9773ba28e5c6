/** The part of the native seam that reports what a plugin did, made by `src/reports.rs`. */

export interface ReportHost {
  /** One datagram to a socket, never blocking; nothing happens when nobody takes it. */
  sendReport(socketPath: string, text: string): void;
  /** A descriptor to `read` reports from, EAGAIN when there is none; replaces an earlier listener. */
  bindReports(socketPath: string): number;
}
