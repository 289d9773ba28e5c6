/** The part of the native seam that runs other programs, made by `src/exec.rs`. */

export interface ProgramHost {
  /** Whether the path is a regular file that somebody may execute. */
  isExecutable(path: string): boolean;
  /** Runs a program to its end, in this environment with the assignments `NAME=value` made. ETXTBSY: try again. */
  exec(path: string, args: readonly string[], assignments: readonly string[], stdin: string): Finished;
}

/** A program that ended: its exit code, or 128 and its signal. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
