import { clientSuite } from "./client-suite.ts";
import { informerSuite } from "./informer-suite.ts";
import { startRealBackend } from "./real-backend.ts";

informerSuite("real API server", startRealBackend);
clientSuite("real API server", startRealBackend);
