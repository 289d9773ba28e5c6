/**
 * The inspection page: what `api/v1` of the same server tells, for people. It runs in a browser, under any path, with relative
 * addresses only, and imports the contract and the types of the answers.
 */
import { render } from "preact";
import { App } from "./app.tsx";
import { startLiveLists } from "./live-lists.ts";
import { startNavigation } from "./navigation.ts";
import { startRefreshTick } from "./refresh-tick.ts";

startNavigation();
startRefreshTick();
startLiveLists();
const page = document.getElementById("page");
if (page !== null) render(<App />, page);
