/**
 * The reasons of Degraded. docs/reference/reasons.md has a row for each. Besides these, the scheduler and the kubelet may give a word of
 * their own for a pod that has no node or is not ready.
 */

export const CONFIGURATION_FAILURES = [
  "FailedToValidate",
  "FailedToGetPreviousConfigSpec",
  "FailedToGetOpenShiftNetworkConfig",
  "FailedToRender",
  "FailedToApply",
  "FailedToDeleteObjects",
  "NoNamespace",
  /** Another product that the component needs is not there. */
  "MissingPrerequisite",
  /** Somebody else does the same work. */
  "AnotherOperator",
] as const;
export type ConfigurationFailure = (typeof CONFIGURATION_FAILURES)[number];

/** One component waits, and the configuration is right. Watches report the end of it. */
export const AWAITED: ReadonlySet<ConfigurationFailure> = new Set(["MissingPrerequisite", "AnotherOperator"]);

const MISSING_WORKLOADS = ["NoDaemonSet", "NoDeployment"] as const;
export type MissingWorkload = (typeof MISSING_WORKLOADS)[number];

/** The pods of the components can't be seen. */
export const UNSEEN_PODS = "InternalError";
export const STANDSTILL = "ProgressDeadlineExceeded";
export const FAILED_CREATE_REASON = "FailedCreate";
export const UNSCHEDULABLE = "Unschedulable";
export const CRASHES = "CrashLoopBackOff";
export const NOT_READY = "ContainersNotReady";
/** The kubelet pulls the image or mounts volumes: a state of every start. */
export const BEING_CREATED = "ContainerCreating";

/** Also said of `ErrImagePull`: the kubelet goes from one to the other and back with each try. */
export const IMAGE_PULL = "ImagePullBackOff";
/** For which a container waits until somebody helps. */
export const CONTAINER_TROUBLES: readonly string[] = [
  "CreateContainerConfigError",
  "CreateContainerError",
  "ErrImageNeverPull",
  "InvalidImageName",
  "RunContainerError",
  IMAGE_PULL,
];
/** Events: why the kubelet does not come to the containers of a pod. */
export const POD_EVENTS: ReadonlySet<string> = new Set([
  "FailedAttachVolume",
  "FailedCreatePodContainer",
  "FailedCreatePodSandBox",
  "FailedMapVolume",
  "FailedMount",
  "NetworkNotReady",
]);

export const DEGRADED_REASONS: readonly string[] = [
  ...CONFIGURATION_FAILURES,
  ...MISSING_WORKLOADS,
  ...CONTAINER_TROUBLES,
  ...POD_EVENTS,
  ...[UNSEEN_PODS, STANDSTILL, FAILED_CREATE_REASON, UNSCHEDULABLE, CRASHES, NOT_READY, BEING_CREATED],
];
