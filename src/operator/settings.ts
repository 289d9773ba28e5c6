/** What the operator knows from its own environment; read once by main.ts. */

import { DEFAULT_IMAGE, DEFAULT_NAMESPACE, PRODUCT_VERSION } from "../api/names.ts";

export interface Images {
  readonly linuxBridge: string;
  readonly bridgeMarker: string;
  readonly kubeMacPool: string;
}

export interface OperatorSettings {
  /** Where the operator runs and keeps its own records. */
  readonly operatorNamespace: string;
  /** Where the components run. */
  readonly operandNamespace: string;
  /** Written to the status to the letter: HCO compares it with what it passed in. */
  readonly version: string;
  readonly images: Images;
}

export const DEFAULT_SETTINGS: OperatorSettings = {
  operatorNamespace: DEFAULT_NAMESPACE,
  operandNamespace: DEFAULT_NAMESPACE,
  version: PRODUCT_VERSION,
  images: { linuxBridge: DEFAULT_IMAGE, bridgeMarker: DEFAULT_IMAGE, kubeMacPool: DEFAULT_IMAGE },
};
