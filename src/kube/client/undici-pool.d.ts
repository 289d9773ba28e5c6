/**
 * undici's pool by its own path: the whole package costs 70-90 ms and 14 MB more at start, which every process of a
 * DaemonSet would pay for fetch, WebSocket and caches it never uses.
 */
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  export default Pool;
}
