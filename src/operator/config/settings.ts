/** Settings from the operator's environment. main.ts reads them once. */

import { DEFAULT_IMAGE } from "../../api/image.ts";
import { DEFAULT_NAMESPACE, PRODUCT_VERSION } from "../../api/names.ts";
import { type ComponentImages, componentImages } from "./component-images.ts";

export interface Images {
  readonly linuxBridge: string;
  readonly bridgeMarker: string;
  readonly kubeMacPool: string;
}

export interface OperatorSettings {
  /** Namespace of the operator and its records. */
  readonly operatorNamespace: string;
  /** Namespace of the components. */
  readonly operandNamespace: string;
  /** Copied verbatim into the status. HCO compares it with the value that it passed in. */
  readonly version: string;
  readonly images: Images;
  readonly componentImages: ComponentImages;
  /** Names of the Secrets with which nodes pull the images. */
  readonly imagePullSecrets: readonly string[];
  /** What keeps a pod from running for longer is a failure, not progress. */
  readonly podTroubleDeadlineMs: number;
  readonly monitoring: MonitoringSettings;
}

export interface MonitoringSettings {
  /** Where Prometheus runs; undefined for the platform's usual namespace. */
  readonly namespace: string | undefined;
  /** The account of Prometheus. */
  readonly serviceAccount: string;
  /** Address of an alert's runbook, with `%s` for the name of the alert. */
  readonly runbookUrlTemplate: string;
}

/** Where the runbooks of the alerts are that Cluster Network Addons Operator has too. */
export const DEFAULT_RUNBOOK_URL_TEMPLATE = "https://kubevirt.io/monitoring/runbooks/%s";

export const DEFAULT_MONITORING: MonitoringSettings = {
  namespace: undefined,
  serviceAccount: "prometheus-k8s",
  runbookUrlTemplate: DEFAULT_RUNBOOK_URL_TEMPLATE,
};

export const POD_TROUBLE_DEADLINE_SECONDS = 5 * 60;

/** Every process of the product runs from `image`. */
export function settingsFor(image: string, namespace = DEFAULT_NAMESPACE): OperatorSettings {
  return {
    operatorNamespace: namespace,
    operandNamespace: namespace,
    version: PRODUCT_VERSION,
    images: { linuxBridge: image, bridgeMarker: image, kubeMacPool: image },
    componentImages: componentImages(),
    imagePullSecrets: [],
    podTroubleDeadlineMs: POD_TROUBLE_DEADLINE_SECONDS * 1_000,
    monitoring: DEFAULT_MONITORING,
  };
}

export const DEFAULT_SETTINGS = settingsFor(DEFAULT_IMAGE);
