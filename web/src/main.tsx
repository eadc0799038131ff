// The dashboard of a Faina server: starts the stream, the session and the page.
import { render } from "preact";
import { App } from "./app";
import { loadSession } from "./lib/api";
import { openStream } from "./live/client";
import { applyTheme } from "./lib/theme";

applyTheme();
openStream();
void loadSession();
const root = document.getElementById("app")!;
root.textContent = "";
render(<App />, root);
