/** What of a pool can be inconsistent, as inspection and `kubectl macpool doctor` call it. */
export const FINDING_CODES = [
  "CLAIM_WITHOUT_OWNER",
  "OWNER_WITHOUT_CLAIM",
  "LISTED_WITHOUT_CLAIM",
  "CLAIM_WAITS",
  "QUARANTINE_OVERDUE",
  "SHARED_ADDRESS",
  "INTERFACE_LEFT_BEHIND",
  "HOST_CONFLICT",
  "SEEN_ELSEWHERE",
  "STATIONS_IN_RANGE",
  "ADOPTION_RUNS",
  "NO_LEADER",
  "POOL_INVALID",
  "POOL_FULL",
  "NO_POOL",
] as const;
