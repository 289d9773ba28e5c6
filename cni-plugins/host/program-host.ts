/** The part of the native seam that runs other programs, made by `src/exec.rs`. */

export interface ProgramHost {
  /** Whether the path is a regular file that somebody may execute. */
  isExecutable(path: string): boolean;
  /**
   * Starts a program in this environment with the assignments `NAME=value` made; its number. It waits for its input.
   * ETXTBSY: try again.
   */
  start(path: string, args: readonly string[], assignments: readonly string[]): number;
  /** All of its input; lets it work. Once for each: ECHILD. */
  give(program: number, stdin: string): void;
  /** Waits until a program that has its input has ended. Once for each: ECHILD. */
  finish(program: number): Finished;
  /** Kills a program; nothing happens when it has ended. */
  abandon(program: number): void;
}

/** A program that ended: its exit code, or 128 and its signal. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
