import { ControlPlaneAccess, type ControlPlanePlace } from "./access.ts";

export interface OwnControlPlanePlace extends ControlPlanePlace {
  /** Path of the key that tokens of service accounts are signed with. */
  readonly tokenKey: string;
}

/** A control plane that nobody else uses meanwhile, so that a test may do harm to it. */
export abstract class OwnControlPlane extends ControlPlaneAccess {
  readonly tokenKey: string;

  constructor(place: OwnControlPlanePlace) {
    super(place);
    this.tokenKey = place.tokenKey;
  }

  /** Kills the API server and leaves it dead, as a test of what survives that. */
  abstract killApiServer(): Promise<void>;

  /** Kills the API server if it runs, starts it again and waits until it is ready. */
  abstract restartApiServer(): Promise<void>;

  /** SIGSTOP: its connections stay open, and nothing is answered. */
  abstract pauseApiServer(): Promise<void>;

  abstract resumeApiServer(): Promise<void>;

  /** Copies what etcd has stored, to be restored later. etcd is away meanwhile. */
  abstract saveEtcd(): Promise<void>;

  /**
   * Puts back what was saved, as an administrator does: the API server ends, etcd goes back, versions are given again. Managers
   * are started anew.
   */
  abstract restoreEtcd(): Promise<void>;
}
