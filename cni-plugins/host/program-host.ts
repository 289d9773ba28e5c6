/** The part of the native seam that runs other programs, made by `src/exec.rs`. */

export interface ProgramHost {
  /** Whether the path is a regular file that somebody may execute. */
  isExecutable(path: string): boolean;
  /** Starts a program in this environment with the assignments `NAME=value` made; its number. ETXTBSY: try again. */
  start(path: string, args: readonly string[], assignments: readonly string[], stdin: string): number;
  /** Waits until a program that was started has ended. Once for each: ECHILD. */
  finish(program: number): Finished;
}

/** A program that ended: its exit code, or 128 and its signal. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
