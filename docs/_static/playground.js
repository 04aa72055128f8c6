// Runs the code of docs/playground.md in Pyodide, which is fetched when Run is pressed first.
"use strict";
(() => {
  const CDN = "https://cdn.jsdelivr.net/pyodide/v0.27.7/full/";
  const [form, code, status, output] = ["", "-code", "-status", "-output"].map((part) =>
    document.getElementById("playground" + part),
  );
  const button = form.querySelector("button");
  const say = (text) => (status.textContent = text);
  let python;

  const script = (url) =>
    new Promise((resolve, reject) => {
      const element = Object.assign(document.createElement("script"), { src: url, onload: resolve });
      element.onerror = () => reject(new Error(`${url} could not be loaded`));
      document.head.append(element);
    });

  async function start() {
    say("Loading Python ...");
    await script(CDN + "pyodide.js");
    const found = await globalThis.loadPyodide({ indexURL: CDN });
    say("Loading NumPy, pandas and SciPy ...");
    await found.loadPackage(["numpy", "pandas", "scipy"]);
    const package_ = await fetch("_static/rrstats.zip");
    found.unpackArchive(await package_.arrayBuffer(), "zip");
    found.setStdout({ batched: (line) => output.append(line + "\n") });
    found.setStderr({ batched: (line) => output.append(line + "\n") });
    return found;
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    output.textContent = "";
    try {
      python ??= await start();
      say("Running ...");
      await new Promise((resolve) => setTimeout(resolve, 20)); // so that the words above are drawn
      await python.runPythonAsync(code.value, { globals: python.toPy({}) });
      say("Done. Each run draws fresh noise.");
    } catch (error) {
      say("It did not run:");
      const traceback = error.message.trim();
      output.append(traceback.slice(Math.max(0, traceback.lastIndexOf('File "<exec>"'))));
    }
    button.disabled = false;
  });
})();
