// A world is a program under observation and a browser that shows its status page.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import readline from "node:readline";
import puppeteer from "puppeteer-core";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = new URL("../../docs/images/statuspage/", import.meta.url);

export class World {
  static async start(resources) {
    const w = new World();
    w.program = spawn("./build/serve", ["-resources", String(resources)], { stdio: ["pipe", "pipe", "inherit"] });
    w.lines = readline.createInterface({ input: w.program.stdout })[Symbol.asyncIterator]();
    w.base = (await w.lines.next()).value;
    if (!w.base) throw new Error("the program has no address");
    w.browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, headless: "shell", args: ["--no-sandbox", "--disable-gpu"] });
    return w;
  }

  // play brings the program into a state.
  async play(step) {
    this.program.stdin.write(step + "\n");
    const { value } = await this.lines.next();
    if (value !== "done") throw new Error(`step ${step}: ${value}`);
  }

  // open opens a page. Errors of scripts, refused content and failed requests end the test in check.
  async open(path = "", { width = 1060, height = 900, scheme = "light", scripts = true } = {}) {
    const page = await this.browser.newPage();
    page.trouble = [];
    page.on("console", (m) => { if (["error", "warn"].includes(m.type())) page.trouble.push(m.text()); });
    page.on("pageerror", (e) => page.trouble.push(String(e)));
    page.on("dialog", (d) => { page.trouble.push("a dialog: " + d.message()); d.dismiss(); });
    page.on("request", (r) => { if (!r.url().startsWith(this.base)) page.trouble.push("a request to " + r.url()); });
    await page.setViewport({ width, height });
    await page.setJavaScriptEnabled(scripts);
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.goto(this.base + path, { waitUntil: "load" });
    return page;
  }

  // violations returns what axe-core finds on a page, and elements that are wider than the page.
  async violations(page) {
    await page.evaluate(axe);
    return page.evaluate(async () => {
      const result = await axe.run(document, { resultTypes: ["violations"] });
      const found = result.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")}`);
      const width = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} px wide; the window has ${width}`);
      return found;
    });
  }

  // shot keeps a screenshot if SCREENSHOTS is set.
  async shot(page, name) {
    if (!process.env.SCREENSHOTS) return;
    await mkdir(shots, { recursive: true });
    await page.evaluate(() => window.scrollTo(0, 0));
    const path = new URL(name + ".png", shots).pathname;
    const { width } = page.viewport();
    const height = await page.evaluate(() => Math.min(document.documentElement.scrollHeight, 1000));
    await page.screenshot({ path, captureBeyondViewport: true, clip: { x: 0, y: 0, width, height } });
  }

  async closePages() {
    for (const page of (await this.browser.pages()).slice(1)) await page.close();
  }

  async stop() {
    await this.browser?.close();
    this.program.stdin.end();
    const [code] = await once(this.program, "exit");
    if (code !== 0) throw new Error(`the program ended with ${code}`);
  }
}
