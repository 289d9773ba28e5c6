/** The Grafana dashboard: how full the pools are, what was refused and why, how long admission takes, how the nodes do. Pure. */

import { HIGHEST_QUANTILE, panelsOf, type Row } from "./panels.ts";

const POOL = 'pool=~"$pool"';
const RATE = "[$__rate_interval]";

/** Every replica counts all claims, so that one of them is enough; what replicas do is added up. */
const ROWS: readonly Row[] = [
  {
    title: "MAC pool",
    panels: [
      {
        title: "Addresses in use",
        about: "Part of each pool's addresses that has a claim. An alert warns from 90 % on.",
        kind: "bargauge",
        unit: "percentunit",
        warnFrom: [0.75, 0.9],
        queries: [
          [
            `1 - min by (pool) (kubevirt_macpool_free{${POOL}}) / max by (pool) (kubevirt_macpool_capacity{${POOL}})`,
            "{{pool}}",
          ],
        ],
      },
      {
        title: "Free addresses",
        about: "What each pool can still give out, and what that will be in a week if the last day repeats itself.",
        kind: "timeseries",
        unit: "short",
        queries: [
          [`min by (pool) (kubevirt_macpool_free{${POOL}})`, "{{pool}}"],
          [`min by (pool) (predict_linear(kubevirt_macpool_free{${POOL}}[1d], 604800))`, "{{pool}} in a week"],
        ],
      },
      {
        title: "Colliding addresses",
        about: "Addresses that several running objects have. kubectl macpool collisions -A names them.",
        kind: "stat",
        unit: "short",
        warnFrom: [1, 1],
        queries: [["count(max by (mac) (kmp_mac_collisions) > 1) or vector(0)", "addresses"]],
      },
      {
        title: "Claims by phase",
        about: "Pending for long: objects that were admitted and never created.",
        kind: "timeseries",
        unit: "short",
        queries: [["max by (phase) (kubevirt_macpool_claims)", "{{phase}}"]],
      },
      {
        title: "Allocations a minute",
        about: "By kind of object, and by who chose the address.",
        kind: "timeseries",
        unit: "short",
        queries: [
          [`60 * sum by (kind, origin) (rate(kubevirt_macpool_allocations_total${RATE}))`, "{{kind}} {{origin}}"],
        ],
      },
      {
        title: "Refusals by reason",
        about: "kubectl macpool denials -A tells the last ones, with what to do.",
        kind: "timeseries",
        unit: "short",
        queries: [[`sum by (reason) (increase(kubevirt_macpool_denials_total${RATE}))`, "{{reason}}"]],
      },
      {
        title: "Duration of admission",
        about: "The 99th percentile by webhook. The creation of a VM waits for it.",
        kind: "timeseries",
        unit: "s",
        queries: [
          [
            `histogram_quantile(${HIGHEST_QUANTILE}, sum by (le, webhook) (rate(kubevirt_macpool_admission_duration_seconds_bucket${RATE})))`,
            "{{webhook}}",
          ],
        ],
      },
      {
        title: "Leaks and starts that nobody judged",
        about:
          "Addresses freed because their object was never created, and VMs started while another holder could not be checked.",
        kind: "timeseries",
        unit: "short",
        queries: [
          [`sum(increase(kubevirt_macpool_leaks_total${RATE}))`, "leaks"],
          [`sum(increase(kubevirt_macpool_unjudged_starts_total${RATE}))`, "unjudged starts"],
        ],
      },
      {
        title: "Certificate of the webhooks",
        about: "Time until it expires. It is renewed long before.",
        kind: "stat",
        unit: "s",
        queries: [["min(kubevirt_macpool_certificate_not_after_seconds) - time()", "left"]],
      },
    ],
  },
  {
    title: "Components and nodes",
    panels: [
      {
        title: "Replicas that are up",
        about: "Processes that Prometheus reaches.",
        kind: "stat",
        unit: "short",
        queries: [
          ["kubevirt_cnao_operator_up", "operator"],
          ["kubevirt_cnao_kubemacpool_manager_up", "MAC pool"],
        ],
      },
      {
        title: "Components",
        about: "1: all of its objects are there and ready. The status of the NetworkAddonsConfig says what is missing.",
        kind: "timeseries",
        unit: "short",
        queries: [["min by (component) (kubevirt_cnao_component_available)", "{{component}}"]],
      },
      {
        title: "Attachments",
        about: "Interfaces that the bridge plugin made and that exist, by node.",
        kind: "timeseries",
        unit: "short",
        queries: [["sum by (instance) (linux_bridge_attachments)", "{{instance}}"]],
      },
      {
        title: "Duration of CNI calls",
        about: "The 99th percentile by command. The start of a pod waits for ADD.",
        kind: "timeseries",
        unit: "s",
        queries: [
          [
            `histogram_quantile(${HIGHEST_QUANTILE}, sum by (le, command) (rate(linux_bridge_cni_operation_duration_seconds_bucket${RATE})))`,
            "{{command}}",
          ],
        ],
      },
      {
        title: "Errors of CNI calls",
        about: "By the code of the error; docs/reference/cni-plugins.md has the codes.",
        kind: "timeseries",
        unit: "short",
        queries: [[`sum by (code) (increase(linux_bridge_cni_errors_total${RATE}))`, "{{code}}"]],
      },
      {
        title: "Leftovers of attachments",
        about: "What no pod uses any more, and what the reaper has removed.",
        kind: "timeseries",
        unit: "short",
        queries: [
          ["sum(linux_bridge_leftovers)", "left over"],
          [`sum(increase(linux_bridge_leaks_reaped_total${RATE}))`, "removed"],
        ],
      },
    ],
  },
];

/** A dashboard that Grafana 10 or later imports; it asks for its data source. */
export function grafanaDashboard(): object {
  return {
    title: "Cluster network addons",
    uid: "cluster-network-addons",
    tags: ["kubevirt", "network"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: {
      list: [
        { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
        {
          name: "pool",
          label: "MACPool",
          type: "query",
          datasource: { type: "prometheus", uid: "$datasource" },
          query: "label_values(kubevirt_macpool_capacity, pool)",
          includeAll: true,
          multi: true,
          refresh: 2,
        },
      ],
    },
    panels: panelsOf(ROWS),
  };
}
